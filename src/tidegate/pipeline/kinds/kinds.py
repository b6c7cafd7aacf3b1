"""Which kind are the filters of a store, or of a base?"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.kinds.documents import Documents
from tidegate.pipeline.kinds.kind import Kind
from tidegate.pipeline.store.language import ATTRIBUTES, XML
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF: Final[dict[str, Callable[[Store, Any, str | None], Kind]]] = {
    ATTRIBUTES: Attributes.of,
    XML: Documents.of,
}
_COMPILED: Final[dict[str, Callable[[Any], Kind]]] = {
    ATTRIBUTES: Attributes.compiled,
    XML: Documents.compiled,
}


def kind_of(store: Store, events: "DataFrame", document: str | None = None) -> Kind:
    """The kind of a store's filters, for events with a document in that column, if in any."""
    return _OF[store.kind](store, events, document)


def compiled_kind(name: str, spelled: Any) -> Kind:
    """The kind of filters that a base was compiled from; ValueError if there is none such."""
    if name not in _COMPILED:
        raise ValueError(f"there is no kind {name!r}")
    return _COMPILED[name](spelled)
