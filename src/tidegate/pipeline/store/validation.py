"""Do the changes that somebody wants fit what is in the store?

An id that is added must not be there, one that is updated or removed must be; an update gives
values that fit the filter, to parameters that the filter has. What comes out are the rows to write:
of an update, the complete values of the parameters after it.

A proposal may change one id several times. It is taken in *waves*: the first change of every id,
then the second of those that have one, and so on. So within a wave ids differ, and each wave is
checked in columns against what the waves before it left.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.errors import ParameterError, SubscriptionError
from tidegate.pipeline.store.language import Language
from tidegate.pipeline.store.literals import (
    PARAMETERS,
    Literals,
    MapBuilder,
    Rows,
    Value,
    given_maps,
)
from tidegate.pipeline.store.proposal import (
    ADD,
    CHANGES,
    REMOVE,
    UPDATE,
    Proposal,
    given_counts,
    groups,
    refuse_unfit,
    stray,
)
from tidegate.pipeline.store.refusals import Refusals


@dataclass(frozen=True, slots=True)
class Verdict:
    """The rows to write, without a version, sorted by id; and what was refused."""

    rows: pa.Table
    refusals: Refusals


def validate(proposal: Proposal, state: pa.Table, language: Language) -> Verdict:
    """Hold a proposal against the state of its ids; rows that are refused are left out."""
    refusals = Refusals()
    refusals.join(proposal.refusals)
    parameters = proposal.parameters
    counts = given_counts(proposal.given, len(proposal))
    known = state.select(["id", "filter", "parameters"]).combine_chunks()
    done = np.empty(0, np.int64)
    for wave in _waves(proposal):
        if len(done):
            done = done[~np.isin(done, refusals.rows())]
            known = _after(known, proposal, done, parameters)
        done = wave
        where = _places(proposal.ids.take(pa.array(wave)), known)
        _check_presence(proposal, wave, where, refusals)
        updates = proposal.kinds[wave] == UPDATE
        updates &= where >= 0
        if updates.any():
            old = known.take(pa.array(where[updates]))
            maps = _update(proposal, counts, wave[updates], old, language, refusals)
            parameters = _replaced(parameters, wave[updates], maps)
    return Verdict(_rows(proposal, parameters, refusals), refusals)


def _waves(proposal: Proposal) -> Iterator[Rows]:
    """Rows by how many changes of the same id come before them; rows without an id are left out."""
    codes = _numbers(proposal.ids.dictionary_encode().indices.fill_null(-1))
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    ordered = codes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    ranks = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    if not ranks.any():
        yield np.sort(order)
        return
    by_rank = order[np.argsort(ranks, kind="stable")]
    ends = np.cumsum(np.bincount(ranks))
    for wave in np.split(by_rank, ends[:-1]):
        yield np.sort(wave)


def _places(ids: pa.Array, known: pa.Table) -> Rows:
    """Where each id is among those known; -1 if it is not."""
    column = known["id"].combine_chunks()
    return _numbers(pc.index_in(ids, value_set=column).fill_null(-1))


def _check_presence(proposal: Proposal, wave: Rows, where: Rows, refusals: Refusals) -> None:
    kinds = proposal.kinds[wave]
    for row in wave[(kinds == ADD) & (where >= 0)]:
        id = proposal.ids[int(row)].as_py()
        refusals.add([row], SubscriptionError(f"there is a subscription {id!r} already"))
    for row in wave[(kinds != ADD) & (where < 0)]:
        id = proposal.ids[int(row)].as_py()
        refusals.add([row], SubscriptionError(f"there is no subscription {id!r}"))


def _after(known: pa.Table, proposal: Proposal, wave: Rows, parameters: pa.Array) -> pa.Table:
    """What is known after a wave."""
    kinds = proposal.kinds[wave]
    ids = proposal.ids.take(pa.array(wave))
    filters = proposal.filters.take(pa.array(wave))
    where = _places(ids, known)
    is_update = pa.array(kinds == UPDATE)
    before = known["filter"].combine_chunks().take(pa.array(where, mask=where < 0))
    new = pa.table(
        {
            "id": ids,
            "filter": pc.if_else(is_update, before, filters),
            "parameters": parameters.take(pa.array(wave)),
        },
        schema=known.schema,
    )
    kept = known.filter(pc.invert(pc.is_in(known["id"], value_set=ids)))
    return pa.concat_tables([kept, new.filter(pa.array(kinds != REMOVE))]).combine_chunks()


def _update(
    proposal: Proposal,
    counts: Rows,
    rows: Rows,
    old: pa.Table,
    language: Language,
    refusals: Refusals,
) -> pa.Array:
    """The complete values of parameters after updates, for rows whose old state is `old`."""
    maps = MapBuilder(len(rows))
    given = proposal.given
    before = given_maps(old["parameters"].combine_chunks())
    places = np.arange(len(rows))
    for text, group in groups(old["filter"].combine_chunks(), places):
        filter = language.read(text)
        for row, said in stray(filter.parameters, language.sign, rows[group], given, counts):
            id = proposal.ids[row].as_py()
            refusals.add([row], ParameterError(f"the filter of {id!r} has {said}"))
        columns = {
            name: _merged(given.get(name), rows[group], before[name], group)
            for name in filter.parameters
        }
        refuse_unfit(language, filter, columns, rows[group], refusals)
        maps.put(group, {name: column.texts for name, column in columns.items()})
    return maps.finish()


def _merged(new: Value | None, rows: Rows, old: Value, places: Rows) -> Literals:
    """The values of a parameter: the new one of a row, or else the old one of its place."""
    before = old.literals.take(old.where(places))
    if new is None:
        return before
    where = new.where(rows)
    return before.override(new.literals.take(where), where >= 0)


def _replaced(maps: pa.Array, rows: Rows, new: pa.Array) -> pa.Array:
    """The maps with those of some rows replaced."""
    chosen = np.arange(len(maps))
    chosen[rows] = len(maps) + np.arange(len(rows))
    return pa.concat_arrays([maps, new]).take(pa.array(chosen))


def _rows(proposal: Proposal, parameters: pa.Array, refusals: Refusals) -> pa.Table:
    """The rows of `rows.SCHEMA` without a version, of all that was not refused, by id and place."""
    kinds = proposal.kinds
    is_add = pa.array(kinds == ADD)
    columns = {
        "place": pa.array(np.arange(len(proposal)), pa.int32()),
        "change": pa.array(CHANGES).take(pa.array(kinds)),
        "id": proposal.ids,
        "subscriber": pc.if_else(is_add, proposal.subscribers, None),
        "filter": pc.if_else(is_add, proposal.filters, None),
        "parameters": pc.if_else(
            pa.array(kinds != REMOVE), parameters, pa.nulls(len(proposal), PARAMETERS)
        ),
    }
    table = pa.table(columns)
    if len(refusals):
        kept = np.ones(len(proposal), np.bool_)
        kept[refusals.rows()] = False
        table = table.filter(pa.array(kept))
    ids = table["id"].combine_chunks()
    if pc.all(pc.less_equal(ids[:-1], ids[1:])).as_py():
        return table  # the rows of each id are in the order of their places already
    return table.take(pc.sort_indices(table, [("id", "ascending"), ("place", "ascending")]))


def _numbers(array: pa.Array) -> Rows:
    numbers: Rows = array.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
