"""Comparing as Spark does where two decimal types have no type in common that holds both."""

from decimal import Decimal

import pytest

import tidegate as tg
from tidegate.filters.compare import rounded, shared_scale, suffix_matters

WIDE = tg.Schema("w DECIMAL(38,30), e DECIMAL(38,36), m DECIMAL(10,2), s SMALLINT, i BIGINT")


@pytest.mark.parametrize(
    ("own", "constants", "listed", "scale"),
    [
        ((10, 2), (5,), False, None),
        ((38, 30), (5,), False, None),  # one digit fits beside 30
        ((38, 30), (123456789,), False, 29),  # nine digits leave room for 29
        ((38, 30), (5,), True, 28),  # in a list an int has ten digits
        ((38, 30), (2**40,), True, 18),  # and a bigint twenty
        ((38, 30), (5, 1.5), True, None),  # a double decides: nothing is rounded
        ((20, 0), (Decimal("1.000000000000000000000000000001"),), False, 18),
        (None, (Decimal("1.5"),), False, None),
    ],
)
def test_the_shared_decimal_type_keeps_the_integral_digits(
    own: tuple[int, int] | None, constants: tuple[int, ...], listed: bool, scale: int | None
) -> None:
    assert shared_scale(own, constants, listed=listed) == scale


def test_rounding_is_half_up_away_from_zero() -> None:
    halves = [Decimal("0.5"), Decimal("-0.5"), Decimal("1.5"), Decimal("0.49")]
    assert [rounded(value, 0) for value in halves] == [1, -1, 2, 0]
    assert rounded(Decimal("1.5"), None) == Decimal("1.5")


def test_a_value_that_rounds_to_the_constant_is_equal_to_it() -> None:
    f = tg.parse("w IN (5)", WIDE)
    assert f.matches({"w": Decimal("5.000000000000000000000000000001")})
    assert not f.matches({"w": Decimal("5.0000000000000000000000000001")})
    assert not tg.parse("w = 5", WIDE).matches({"w": Decimal("5.000000000000000000000000000001")})


@pytest.mark.parametrize(
    "text", ["w IN (0L)", "w IN (0Y)", "e = 0Y", "s IN (1S, 0.00000000000000000000000000000005)"]
)
def test_a_suffix_that_would_change_the_rounding_is_refused(text: str) -> None:
    for _ in range(2):  # parsed in full, and from its template
        with pytest.raises(tg.FilterTypeError, match="suffix"):
            tg.parse(text, WIDE)


@pytest.mark.parametrize("text", ["m = 5L", "m IN (5Y, 1.5)", "i IN (5S, 7)", "w = 5L", "s = 5Y"])
def test_elsewhere_a_suffix_changes_nothing(text: str) -> None:
    plain = text.replace("5L", "5").replace("5Y", "5").replace("5S", "5")
    assert tg.parse(text, WIDE) == tg.parse(plain, WIDE)


def test_only_wide_decimals_make_a_suffix_matter() -> None:
    assert suffix_matters((38, 30), (5,), ["L"], listed=True)
    assert not suffix_matters((38, 30), (5,), ["L"], listed=False)
    assert suffix_matters((38, 36), (5,), ["Y"], listed=False)
    assert not suffix_matters((10, 2), (5,), ["L"], listed=True)
    assert not suffix_matters((38, 30), (5, 1.5), ["L", ""], listed=True)
    assert not suffix_matters(None, (5,), ["L"], listed=True)
