"""Effects that name rows of a batch, and the same effects one by one.

What a broker wants done with the events of a batch is what it would want done with each of them.
Both ways are needed: whoever carries bytes takes rows, and whoever looks at one event at a time,
such as a simulator, takes effects one by one. On each link, the order is the same.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from tidegate.overlay.messages import (
    Batch,
    Deliver,
    DeliverRows,
    Effect,
    Refuse,
    RefuseRows,
    Send,
    SendRows,
)


def by_row(effects: Iterable[Effect]) -> dict[int, list[Effect]]:
    """What is done with each row of a batch, one by one."""
    found: dict[int, list[Effect]] = {}
    for effect in effects:
        match effect:
            case SendRows(link, batch, rows):
                for row in rows.tolist():
                    found.setdefault(row, []).append(Send(link, batch.row(row)))
            case DeliverRows():
                for link, row, own in handed(effect):
                    event = effect.batch.row(row)
                    found.setdefault(row, []).append(
                        Deliver(link, event.event, event.publisher, event.number, own)
                    )
            case RefuseRows(link, batch, reasons):
                for row, reason in reasons.items():
                    refusal = Refuse(None, batch.row(row).number, reason)
                    found.setdefault(row, []).append(Send(link, refusal))
            case _:
                raise TypeError(f"{effect} names no rows")
    return found


def gathered(batch: Batch, effects: Mapping[int, list[Effect]]) -> list[Effect]:
    """What is to be done with rows of a batch, by row in their order, as effects that name rows."""
    sent: dict[str, list[int]] = {}
    delivered: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
    for row, each in effects.items():
        for effect in each:
            if isinstance(effect, Deliver):
                delivered.setdefault(effect.link, []).append((row, effect.subscriptions))
            else:
                assert isinstance(effect, Send)
                sent.setdefault(effect.link, []).append(row)
    found: list[Effect] = [
        SendRows(link, batch, np.array(rows, np.int32)) for link, rows in sent.items()
    ]
    if delivered:
        pairs = [pair for told in delivered.values() for pair in told]
        ends = np.cumsum([len(told) for told in delivered.values()]).astype(np.int32)
        begins = np.concatenate(([0], ends[:-1])).astype(np.int32)
        starts = np.cumsum([0, *(len(owns) for _, owns in pairs)]).astype(np.int32)
        flat = np.array([own for _, owns in pairs for own in owns], np.int64)
        rows = np.array([row for row, _ in pairs], np.int32)
        bounds = np.stack((begins, ends), axis=1)
        found.append(DeliverRows(tuple(delivered), batch, bounds, rows, starts, flat))
    return found


def handed(effect: DeliverRows) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """To which link each row goes, for which of its subscriptions."""
    rows, starts = effect.rows.tolist(), effect.starts.tolist()
    owns = effect.subscriptions.tolist()
    for link, (first, last) in zip(effect.links, effect.bounds.tolist(), strict=True):
        for k in range(first, last):
            yield link, rows[k], tuple(owns[starts[k] : starts[k + 1]])
