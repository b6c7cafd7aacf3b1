"""What does each stored subscription mean?

Its text is read and its parameters are bound, as the index would do it. What comes out is known by
its **meaning**: a digest of the canonical form, in which it makes no difference how a range, a list
or a negation was written. Subscriptions of one meaning are one filter from then on.

Invariant: two filters have the same meaning if and only if they are equal as `Filter`s are (up to
collisions of a digest of 128 bits); the meaning is the same in every process.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from tidegate.filters.canonical import Constraint, Every, Form, Open, Some
from tidegate.filters.filter import Filter, parse
from tidegate.filters.schema import Schema
from tidegate.filters.values import Constant
from tidegate.filters.valueset import ValueSet
from tidegate.pipeline.store.literals import read_constant

SIZE: Final = 16  # bytes of a meaning


def read(text: str, parameters: Iterable[tuple[str, str]] | None, schema: Schema | None) -> Filter:
    """The filter of a stored subscription, its parameters bound.

    >>> print(read("price < :limit", [("limit", "10.5D")], None))
    price < 10.5D
    """
    f = parse(text, schema)
    if not f.parameters:
        return f
    given = dict(parameters or ())
    bound = f.bind(**{name: _constant(given[name]) for name in f.parameters if name in given})
    bound.require_bound()
    return bound


@lru_cache(maxsize=16_384)
def _constant(literal: str) -> Constant:
    return read_constant(literal)


def meaning(form: Form) -> bytes:
    """The digest of a canonical form.

    >>> one, other = read("x > 1 AND x < 5", None, None), read("x < 5 AND x > 1", None, None)
    >>> meaning(one.form) == meaning(other.form)
    True
    """
    return digest(_spelled(form))


def digest(text: str) -> bytes:
    """A short name for a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def _spelled(form: Form) -> str:
    if isinstance(form, Constraint):
        return f"{form.attribute!r}{spelled_set(form.allowed)}"
    if isinstance(form, Every | Some):
        sign = "&" if isinstance(form, Every) else "|"
        return f"{sign}({' '.join(sorted(map(_spelled, form.parts)))})"
    assert not isinstance(form, Open), "parameters are bound"
    return repr(form)


def spelled_set(allowed: ValueSet) -> str:
    """A set of values, the same for equal ones."""
    texts = sorted(map(repr, allowed.texts)) if allowed.texts else ""
    return f"[{allowed.absent:d}{sorted(allowed.spans.items())}{texts}]"
