"""What were subscriptions given as?

A subscription is an expression and the values of its parameters. Expressions are kept as texts,
each once, and read again when somebody asks: what they mean is in the plan, and an object for each
would take a hundred times the memory.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.documents.xpath import XPath, of_shape, parse_xpath
from tidegate.engine.subscriptions.subscription import Id, Subscription
from tidegate.filters.filter import Filter

_BOUND: Final = 2**14
"""Expressions that are kept for those who try them one by one, each some 3 KB."""

Parameters: TypeAlias = Mapping[str, Any]
_NO_PARAMETERS: Parameters = {}


@dataclass(frozen=True, slots=True)
class Form:
    """An expression as it was given: a text, or the shape and values of what was made of one."""

    text: str
    namespaces: tuple[tuple[str, str], ...] = ()
    ordered: bool = False
    values: tuple[str | None, ...] | None = None

    def xpath(self) -> XPath:
        """The expression, read."""
        if self.values is None:
            return parse_xpath(self.text, namespaces=dict(self.namespaces), ordered=self.ordered)
        uris = [uri for _, uri in self.namespaces]
        return of_shape((self.text, uris, self.ordered), self.values)


def form_of(xpath: XPath) -> Form:
    """The form of an expression that was read before."""
    text, uris, ordered = xpath.shape
    named = tuple((f"ns{number}", uri) for number, uri in enumerate(uris))
    return Form(text, named, ordered, tuple(xpath.values))


@lru_cache(maxsize=_BOUND)
def bound(form: Form, parameters: tuple[tuple[str, Any], ...]) -> XPath:
    """A form with its parameters bound."""
    read = form.xpath()
    return read.bind(**dict(parameters)) if parameters else read


class Originals:
    """The expressions and parameters of the subscriptions of a segment, by code."""

    def __init__(
        self, forms: Sequence[Form], form_of_code: NDArray[np.int32], values: list[Any] | None
    ) -> None:
        self.forms = forms
        self.form_of_code = form_of_code
        self.values = values
        """Of each code, the values of its parameters, or None if there are none."""

    def parameters(self, code: int) -> Parameters:
        """The values of the parameters of a subscription."""
        values = None if self.values is None else self.values[code]
        return _NO_PARAMETERS if values is None else values

    def xpath(self, code: int) -> XPath:
        """The expression of a subscription, its parameters bound."""
        form = self.forms[int(self.form_of_code[code])]
        return bound(form, tuple(sorted(self.parameters(code).items())))

    def subscription(self, code: int, id: Id) -> Subscription:
        """A subscription as it was given."""
        form = self.forms[int(self.form_of_code[code])]
        return Subscription(id, cast(Filter, bound(form, ())), self.parameters(code))

    @staticmethod
    def joined(parts: Sequence["Originals"], kept: Sequence[NDArray[np.int64]]) -> "Originals":
        """Those of the kept codes of several, one after the other."""
        forms: dict[Form, int] = {}
        numbers, values = [], []
        for part, codes in zip(parts, kept, strict=True):
            used, place = np.unique(part.form_of_code[codes], return_inverse=True)
            new = [forms.setdefault(part.forms[i], len(forms)) for i in used.tolist()]
            numbers.append(np.array(new, np.int32)[place])
            values += (
                [None] * len(codes)
                if part.values is None
                else [part.values[code] for code in codes.tolist()]
            )
        has_values = any(each is not None for each in values)
        return Originals(
            list(forms),
            np.concatenate(numbers) if numbers else np.zeros(0, np.int32),
            values if has_values else None,
        )

    # -- files

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """All of it as two tables: the forms, and the subscriptions."""
        forms = pa.table(
            {
                "text": pa.array([form.text for form in self.forms], pa.large_string()),
                "rest": pa.array([_rest(form) for form in self.forms], pa.string()),
            }
        )
        values = self.values or [None] * len(self.form_of_code)
        plain = [None if each is None else json.dumps(dict(each)) for each in values]
        codes = pa.table(
            {"form": pa.array(self.form_of_code), "values": pa.array(plain, pa.large_string())}
        )
        return forms, codes

    @staticmethod
    def read(forms: pa.Table, codes: pa.Table) -> "Originals":
        """What `tables` made tables of."""
        rows = zip(forms["text"].to_pylist(), forms["rest"].to_pylist(), strict=True)
        values: list[Any] | None = None
        if codes["values"].null_count < len(codes):
            values = [
                None if text is None else json.loads(text) for text in codes["values"].to_pylist()
            ]
        form = codes["form"].combine_chunks().to_numpy(zero_copy_only=False).astype(np.int32)
        return Originals([_form(text, rest) for text, rest in rows], form, values)


def _rest(form: Form) -> str | None:
    if not form.namespaces and not form.ordered and form.values is None:
        return None
    return json.dumps([form.namespaces, form.ordered, form.values])


def _form(text: str, rest: str | None) -> Form:
    if rest is None:
        return Form(text)
    namespaces, ordered, values = json.loads(rest)
    named = tuple((prefix, uri) for prefix, uri in namespaces)
    return Form(text, named, ordered, None if values is None else tuple(values))
