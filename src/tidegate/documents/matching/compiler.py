"""How do subscriptions become a segment, and segments one?"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.documents.matching.draft import Draft, is_exact
from tidegate.documents.matching.originals import Form, Originals, form_of
from tidegate.documents.matching.output_kernels import Behind, room
from tidegate.documents.matching.parts import join, parts_of
from tidegate.documents.matching.plan import plan_of
from tidegate.documents.matching.segment import Owners, Segment
from tidegate.documents.xpath import XPath
from tidegate.engine.primitives import background
from tidegate.engine.primitives.offsets import starts
from tidegate.engine.subscriptions.subscription import Subscription, id_array

_STEP: Final = 256  # expressions after which others may go first
_Pairs: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


class Expressions:
    """Many subscriptions: the expressions, each once, and which of them each has.

    `forms` are the expressions as they were given, `bound` what they mean, for each of those that
    differ in their parameters one.
    """

    def __init__(self, ids: pa.Array, originals: Originals, bound: Sequence[XPath]) -> None:
        self.ids = ids
        self.originals = originals
        self.bound = bound
        """Of each code, if there are parameters; otherwise of each form."""


class Compiler:
    """Makes segments. What it does for the engine's bookkeeping of segments, others do as well."""

    def compile(self, blocks: Any, singles: Sequence[Subscription], ranged: Any) -> Segment:
        """A segment of subscriptions that came one by one, or of many that came together."""
        if blocks:
            (expressions,) = blocks
            return self.compiled(expressions)
        forms: dict[Form, int] = {}
        numbers, values, bound = [], [], []
        for each in singles:
            given: Any = each.filter
            numbers.append(forms.setdefault(form_of(given), len(forms)))
            values.append(dict(each.parameters) or None)
            bound.append(cast(Any, each.bound))
        originals = Originals(
            list(forms),
            np.array(numbers, np.int32),
            values if any(each is not None for each in values) else None,
        )
        ids = id_array([each.id for each in singles])
        place = np.arange(len(bound))
        return _segment(Draft(), ids, originals, bound, place)

    def compiled(self, expressions: Expressions) -> Segment:
        """A segment of many subscriptions."""
        originals = expressions.originals
        by_form = originals.values is None
        place = originals.form_of_code if by_form else np.arange(len(expressions.ids))
        return _segment(Draft(), expressions.ids, originals, expressions.bound, place)

    def merge(
        self, segments: Sequence[Segment], kept: Sequence[NDArray[np.int64]]
    ) -> tuple[Segment, NDArray[np.int64]]:
        """One segment of those codes of others that are kept, and the codes they have in it."""
        draft = Draft()
        exact: list[_Pairs] = []
        tried: list[_Pairs] = []
        before = 0
        for segment, codes in zip(segments, kept, strict=True):
            new = np.full(len(segment), -1, np.int64)
            new[codes] = before + np.arange(len(codes))
            pairs = [_pairs(owners, new) for owners in segment.owners]
            wanted = np.zeros(len(segment.parts.target_node), np.bool_)
            for targets, _ in pairs:
                wanted[targets] = True
            background.step()
            place = join(draft, segment.parts, wanted)
            for found, (targets, owners) in zip((exact, tried), pairs, strict=True):
                found.append((place[targets], owners))
            before += len(codes)
        ids = pa.concat_arrays(
            [
                segment.ids.take(pa.array(codes))
                for segment, codes in zip(segments, kept, strict=True)
            ]
        )
        originals = Originals.joined([segment.originals for segment in segments], kept)
        behind = [
            _behind(
                np.concatenate([targets for targets, _ in found]),
                np.concatenate([codes for _, codes in found]),
                len(draft.targets),
            )
            for found in (exact, tried)
        ]
        background.step()
        merged = Segment(parts_of(draft), plan_of(draft), Owners(*behind), ids, originals)
        return merged, np.arange(before)


def _pairs(behind: Behind, new: NDArray[np.int64]) -> _Pairs:
    """Targets and the new codes behind them, of those that have one."""
    targets = np.repeat(np.arange(len(behind.start) - 1), np.diff(behind.start))
    codes = new[behind.codes[: len(targets)]]
    kept = codes >= 0
    return targets[kept], codes[kept]


def _segment(
    draft: Draft,
    ids: pa.Array,
    originals: Originals,
    bound: Sequence[XPath],
    place: NDArray[Any],
) -> Segment:
    """A segment of subscriptions whose expression is at a place among those that are bound."""
    targets: list[int] = []
    counts = np.zeros(len(bound), np.int64)
    is_tried = np.zeros(len(bound), np.bool_)
    for number, xpath in enumerate(bound):
        if number % _STEP == 0:
            background.step()
        found = {draft.target(pattern) for pattern in xpath.patterns}
        targets += sorted(found)
        counts[number] = len(found)
        is_tried[number] = not all(is_exact(pattern) for pattern in xpath.patterns)
    first = starts(counts)
    all_targets = np.array(targets, np.int64)
    owners = []
    for chosen in (~is_tried[place], is_tried[place]):
        codes = np.flatnonzero(chosen)
        each = counts[place[codes]]
        items = np.arange(each.sum()) + np.repeat(
            first[place[codes]] - np.cumsum(each) + each, each
        )
        owners.append(_behind(all_targets[items], np.repeat(codes, each), len(draft.targets)))
    return Segment(parts_of(draft), plan_of(draft), Owners(*owners), ids, originals)


def _behind(targets: NDArray[Any], codes: NDArray[Any], count: int) -> Behind:
    """The codes of each target."""
    order = np.argsort(targets, kind="stable")
    several = np.bincount(codes, minlength=1) > 1
    has_several = np.zeros(count, np.bool_)
    has_several[targets[several[codes]]] = True
    return Behind(
        starts(np.bincount(targets, minlength=count)),
        room(codes[order].astype(np.int32)),
        has_several,
    )
