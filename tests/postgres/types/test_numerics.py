"""Numerics in send format, all values of an array at once: the driver's own encoding of a decimal is read back."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.numeric import DecimalBinaryDumper

from airflow_ddlrepl.engines.postgres.types.numerics import decimals, numeric_texts, unfit

DUMPER = DecimalBinaryDumper(Decimal)


def sent(texts: list[str | None]) -> pa.Array:
    """The texts as the server sends them."""
    values = [None if text is None else bytes(DUMPER.dump(Decimal(text)) or b"") for text in texts]
    return pa.array(values, pa.binary())


@st.composite
def columns(draw: st.DrawFn) -> tuple[int, int, list[str | None]]:
    """A precision, a scale, and texts of numbers that have them; some are NULL."""
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    most = 10**precision - 1
    number = st.one_of(
        st.integers(-most, most), st.integers(-min(99, most), min(99, most)), st.sampled_from((0, most, -most))
    )
    tens = st.integers(0, precision).map(lambda count: 10**count)  # zeros at the end are not in the log
    numbers = st.builds(lambda n, ten: n - n % ten if n > 0 else n, number, tens)
    found = draw(st.lists(st.one_of(st.none(), numbers), max_size=12))
    return precision, scale, [None if n is None else written(n, scale) for n in found]


def written(number: int, scale: int) -> str:
    """A number with so many of its digits behind the point."""
    digits = str(abs(number)).rjust(scale + 1, "0")
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if number < 0 else text


@given(columns(), st.integers(0, 3))
def test_decimals_and_texts_are_those_that_were_sent(of: tuple[int, int, list[str | None]], cut: int) -> None:
    precision, scale, texts = of
    values, wanted = sent(texts).slice(cut), texts[cut:]
    found = decimals(values, precision, scale)
    found.validate(full=True)
    assert found.type == pa.decimal128(precision, scale)
    assert found.to_pylist() == [None if text is None else Decimal(text) for text in wanted]
    assert numeric_texts(values).to_pylist() == wanted


@given(st.lists(st.one_of(st.none(), st.decimals(allow_infinity=False, places=9), st.just(Decimal("NaN")))))
def test_texts_of_any_size_have_all_their_digits(numbers: list[Decimal | None]) -> None:
    texts = [None if n is None else "NaN" if n.is_nan() else f"{n if n else n.copy_abs():f}" for n in numbers]
    assert numeric_texts(sent(texts)).to_pylist() == texts


@pytest.mark.parametrize("precision", [12, 18, 19, 38])
@pytest.mark.parametrize("scale", [0, 1, 4, 5, 12])
def test_what_a_decimal_does_not_hold_is_refused(precision: int, scale: int) -> None:
    whole = 10 ** (precision - scale)
    for text in (str(whole), str(-whole), f"0.{'0' * scale}1", "1e60", "1e-60", "NaN", "Infinity"):
        with pytest.raises(ValueError):
            decimals(sent(["0", text]), precision, scale)


@given(
    st.lists(
        st.one_of(st.none(), st.decimals(allow_infinity=False, places=5, min_value=-(10**9), max_value=10**9)),
        min_size=1,
    ),
    st.integers(1, 12),
    st.integers(0, 12),
)
def test_what_does_not_fit_is_known_one_by_one(numbers: list[Decimal | None], precision: int, scale: int) -> None:
    scale = min(scale, precision)
    values = sent([None if n is None else f"{n if n else n.copy_abs():f}" for n in numbers])
    limit = Decimal(10) ** (precision - scale)
    wanted = [n is not None and (n.is_nan() or abs(n) >= limit or n != round(n, scale)) for n in numbers]
    assert unfit(values, precision, scale).tolist() == wanted
