"""How does an index of documents lie on disk?

As a file of named flat arrays (`engine.file.container`), checked and mapped as those of attributes
are: the plan as it is, what it was made of, and what the subscriptions were given as.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.documents.matching.originals import Originals
from tidegate.documents.matching.output_kernels import Behind
from tidegate.documents.matching.parts import Parts
from tidegate.documents.matching.plan import Conditions, Keys, Leaves, Plan
from tidegate.documents.matching.segment import Owners, Segment
from tidegate.documents.matching.trie import TrieArrays
from tidegate.engine.file import container
from tidegate.errors import IndexFileError

_CONTENT: Final = "subscriptions to documents"
_FORMAT: Final = 1
_IDS: Final = {"string": str, "int64": int, "none": None}
_PLAN: Final[dict[str, Any]] = {
    "trunks": TrieArrays,
    "ways": TrieArrays,
    "leaves": Leaves,
    "keys": Keys,
    "conditions": Conditions,
}


def write(
    path: container.Location,
    namespaces: Mapping[str, str],
    kind: type | None,
    segment: Segment | None,
) -> None:
    """Write all subscriptions of an index, or replace a file as a whole."""
    ids = "none" if kind is None else "int64" if kind is int else "string"
    header = {
        "content": _CONTENT,
        "format": _FORMAT,
        "namespaces": dict(namespaces),
        "ids": ids,
        "empty": segment is None,
    }
    arrays: dict[str, NDArray[Any]] = {}
    if segment is not None:
        _put(arrays, "parts", segment.parts)
        for name in _PLAN:
            _put(arrays, name, getattr(segment.plan, name))
        _put(arrays, "exact", segment.owners.exact)
        _put(arrays, "tried", segment.owners.tried)
        forms, codes = segment.originals.tables()
        arrays["forms"] = container.table_to_bytes(forms)
        arrays["codes"] = container.table_to_bytes(codes)
        arrays["ids"] = container.table_to_bytes(pa.table({"id": segment.ids}))
    container.write(path, header, arrays)


def read(path: container.Location) -> tuple[dict[str, str], type | None, Segment | None]:
    """The namespaces, the kind of ids, and the subscriptions of a file."""
    header, arrays = container.read(path, copy_on_write=True)
    if header.get("content") != _CONTENT or header.get("format") != _FORMAT:
        raise IndexFileError(f"{path} is no index of documents, or one of another version")
    try:
        namespaces, kind = dict(header["namespaces"]), _IDS[header["ids"]]
        if header["empty"]:
            return namespaces, kind, None
        plan = Plan(**{name: _taken(arrays, name, made) for name, made in _PLAN.items()})
        owners = Owners(_taken(arrays, "exact", Behind), _taken(arrays, "tried", Behind))
        tables = [container.table_from_bytes(arrays[name]) for name in ("forms", "codes", "ids")]
        column = tables[2]["id"]
        ids = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        originals = Originals.read(tables[0], tables[1])
        parts = _taken(arrays, "parts", Parts)
    except (KeyError, TypeError, ValueError, json.JSONDecodeError) as error:
        raise IndexFileError(f"{path} makes no sense: {error}") from error
    segment = Segment(parts, plan, owners, ids, originals)
    if len(ids) != len(originals.form_of_code):
        raise IndexFileError(f"{path} makes no sense: ids and subscriptions differ in number")
    return namespaces, kind, segment


def _put(arrays: dict[str, NDArray[Any]], name: str, part: Any) -> None:
    for field, array in zip(part._fields, part, strict=True):
        arrays[f"{name}.{field}"] = array


def _taken(arrays: Mapping[str, NDArray[Any]], name: str, made: Any) -> Any:
    return made(**{field: np.asarray(arrays[f"{name}.{field}"]) for field in made._fields})
