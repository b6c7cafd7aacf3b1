"""When does a value meet a comparison, and when does one comparison imply another?

As XPath 1.0 has it: a value in a document is a string. Compared with a string by `=` or `!=` it is
compared as it is, white space included. Compared with a number, or by an order, both become
numbers (`number`): white space around them, a minus and decimal digits are allowed, and nothing
else. `+3`, `1e3`, `0x10` and the empty string are not numbers (NaN); of all comparisons, only `!=`
holds for such a value.

The tests of one value are brought into one form (`reduced`): a string that the value equals, which
decides everything else; or a closed range of numbers, numbers and strings that it is not, a prefix,
and parts. Between a double and the next there is nothing, so `< 3` is `<= 2.9999999999999996`.
"""

import math
import re
from collections.abc import Iterable
from typing import Final

from tidegate.documents.pattern import (
    AT_LEAST,
    AT_MOST,
    CONTAINS,
    EQUAL,
    GREATER,
    LESS,
    STARTS,
    UNEQUAL,
    ValueTest,
)

SPACE: Final = " \t\r\n"
_NUMBER = re.compile(r"[ \t\r\n]*(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))[ \t\r\n]*")
_INFINITE: Final = math.inf
_MAX_COMPARED: Final = 50  # tests with strings; more of them are left as they are
NEVER: Final = None
"""What tests that no value meets are reduced to."""


def number(text: str) -> float:
    """A string as a number; NaN if it is none.

    >>> number(" -1.50\\n"), number("+3"), number("1e3"), number(".5"), number("5.")
    (-1.5, nan, nan, 0.5, 5.0)
    """
    found = _NUMBER.fullmatch(text)
    return math.nan if found is None else float(found[1])


def spelled(value: float) -> str:
    """A number as a string, as XPath's string() has it.

    >>> spelled(1.0), spelled(-0.0), spelled(1e-7), spelled(float("nan"))
    ('1', '0', '0.0000001', 'NaN')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == int(value):
        return str(int(value))
    digits = repr(value)
    if "e" not in digits:
        return digits
    mantissa, _, exponent = digits.partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
    return f"{sign}0." + "0" * (-int(exponent) - 1) + mantissa.replace(".", "")


def meets(value: str, test: ValueTest) -> bool:
    """Whether a value meets a test.

    >>> meets(" 1.0 ", ValueTest(EQUAL, 1.0)), meets(" 1.0 ", ValueTest(EQUAL, "1.0"))
    (True, False)
    """
    constant = test.constant
    if isinstance(constant, str):
        match test.operator:
            case "=":
                return value == constant
            case "!=":
                return value != constant
            case "starts-with":
                return value.startswith(constant)
            case "contains":
                return constant in value
        constant = number(constant)
    own = number(value)
    match test.operator:
        case "=":
            return own == constant
        case "!=":
            return own != constant
        case "<":
            return own < constant
        case "<=":
            return own <= constant
        case ">":
            return own > constant
        case _:
            return own >= constant


def reduced(tests: Iterable[ValueTest]) -> tuple[ValueTest, ...] | None:
    """The same tests in one form, or NEVER if no value meets them all.

    >>> reduced(
    ...     [ValueTest(">", 3.0), ValueTest(">=", 4.0), ValueTest("<", 9.0), ValueTest("!=", 12.0)]
    ... )
    (ValueTest(operator='<=', constant=8.999999999999998), ValueTest(operator='>=', constant=4.0))
    >>> reduced([ValueTest("=", "a"), ValueTest("starts-with", "b")])
    """
    tests = tuple(tests)
    if not tests:
        return ()
    equal = {test.constant for test in tests if test.operator == EQUAL and _is_text(test)}
    if equal:
        value = str(next(iter(equal)))
        if len(equal) > 1 or not all(meets(value, test) for test in tests):
            return NEVER
        return (ValueTest(EQUAL, value),)
    numbers = _numbers([test for test in tests if not _is_text(test)])
    texts = _texts([test for test in tests if _is_text(test)])
    if numbers is NEVER:
        return NEVER
    return tuple(sorted({*numbers, *texts}, key=_order))


def implies(given: tuple[ValueTest, ...], test: ValueTest) -> bool:
    """Whether every value that meets the given tests, which are reduced, meets the test."""
    if test in given:
        return True
    if len(given) == 1 and given[0].operator == EQUAL and isinstance(given[0].constant, str):
        return meets(given[0].constant, test)
    if _is_text(test):
        return any(_text_implies(each, test) for each in given)
    assert isinstance(test.constant, float)
    low, high = span(given)
    if low is None or high is None:
        return False  # the value may be no number, and all that holds for it is in `given`
    match test.operator:
        case "=":
            return low == high == test.constant
        case "!=":
            return not low <= test.constant <= high
        case "<=":
            return high <= test.constant
        case ">=":
            return low >= test.constant
    return implies(given, _closed(test))


def span(tests: Iterable[ValueTest]) -> tuple[float | None, float | None]:
    """The least and the greatest number that reduced tests allow; None if it need not be one."""
    low: float | None = None
    high: float | None = None
    for test in tests:
        if isinstance(test.constant, str):
            continue
        if test.operator in (EQUAL, AT_LEAST):
            low = test.constant
        if test.operator in (EQUAL, AT_MOST):
            high = test.constant
    if low is None and high is None:
        return None, None
    return -_INFINITE if low is None else low, _INFINITE if high is None else high


def exclude(one: tuple[ValueTest, ...], other: tuple[ValueTest, ...]) -> bool:
    """Whether it is certain that no value meets both."""
    return reduced((*one, *other)) is NEVER


def _numbers(tests: list[ValueTest]) -> tuple[ValueTest, ...] | None:
    """Comparisons with numbers, in one form."""
    low, high, is_number = -_INFINITE, _INFINITE, False
    others: set[float] = set()
    for test in map(_closed, tests):
        constant = test.constant
        assert isinstance(constant, float)
        if test.operator == UNEQUAL:
            if not math.isnan(constant):
                others.add(constant + 0.0)  # one zero
            continue
        if math.isnan(constant):
            return NEVER
        is_number = True
        if test.operator in (EQUAL, AT_LEAST):
            low = max(low, constant + 0.0)
        if test.operator in (EQUAL, AT_MOST):
            high = min(high, constant + 0.0)
    if not is_number:
        return tuple(ValueTest(UNEQUAL, other) for other in others)
    while low in others and low <= high:
        low = math.nextafter(low, _INFINITE) if low < _INFINITE else math.nan
    while high in others and low <= high:
        high = math.nextafter(high, -_INFINITE) if high > -_INFINITE else math.nan
    if not low <= high:
        return NEVER
    low, high = low + 0.0, high + 0.0
    left = [ValueTest(UNEQUAL, other) for other in others if low < other < high]
    if low == high:
        return (ValueTest(EQUAL, low),)
    if low == -_INFINITE and high == _INFINITE:
        return (ValueTest(AT_MOST, high), *left)  # any number
    if low > -_INFINITE:
        left.append(ValueTest(AT_LEAST, low))
    if high < _INFINITE:
        left.append(ValueTest(AT_MOST, high))
    return tuple(left)


def _closed(test: ValueTest) -> ValueTest:
    """A comparison with a number without < and >."""
    constant = number(test.constant) if isinstance(test.constant, str) else test.constant
    if test.operator == LESS:
        beyond = constant == -_INFINITE
        return ValueTest(
            AT_MOST, math.nan if beyond else math.nextafter(constant, -_INFINITE) + 0.0
        )
    if test.operator == GREATER:
        beyond = constant == _INFINITE
        return ValueTest(
            AT_LEAST, math.nan if beyond else math.nextafter(constant, _INFINITE) + 0.0
        )
    return ValueTest(test.operator, constant)


def _texts(tests: list[ValueTest]) -> list[ValueTest]:
    """Comparisons with strings but equality: none that another implies."""
    kept: list[ValueTest] = []
    if len(tests) > _MAX_COMPARED:
        return sorted(set(tests), key=_order)
    for test in sorted(set(tests), key=_order):
        if test.operator in (STARTS, CONTAINS) and not test.constant:
            continue  # of any value
        if not any(other != test and _text_implies(other, test) for other in tests):
            kept.append(test)
    return kept


def _text_implies(given: ValueTest, test: ValueTest) -> bool:
    """Whether one comparison with a string implies another."""
    known, asked = given.constant, test.constant
    if not isinstance(known, str) or not isinstance(asked, str):
        return False
    if test.operator == UNEQUAL:
        return (
            (given.operator == UNEQUAL and known == asked)
            or (given.operator == STARTS and not asked.startswith(known))
            or (given.operator == CONTAINS and known not in asked)
        )
    if test.operator == STARTS:
        return given.operator == STARTS and known.startswith(asked)
    if test.operator == CONTAINS:
        return given.operator in (STARTS, CONTAINS) and asked in known
    return False


def _is_text(test: ValueTest) -> bool:
    """Whether a test compares strings."""
    return isinstance(test.constant, str) and test.operator in (EQUAL, UNEQUAL, STARTS, CONTAINS)


def _order(test: ValueTest) -> tuple[str, bool, str | float]:
    return test.operator, isinstance(test.constant, str), test.constant
