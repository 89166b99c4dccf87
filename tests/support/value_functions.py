"""Functions that channels of the tests give values with (`transform`)."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc


def masked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Of every text column that is called note, mail or secret: its length and its first letter."""
    found = {}
    for name in batch.schema.names:
        if name in ("note", "mail", "secret", "more"):
            found[name] = [None if v is None else f"{v[:1]}*{len(v)}" for v in batch.column(name).to_pylist()]
    return pa.RecordBatch.from_pydict({**found, "id": batch.column("id")})


def masked_otherwise(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"note": pc.utf8_upper(batch.column("note"))})


def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def joined(batch: pa.RecordBatch) -> pa.RecordBatch:
    """note: everything that the row shows."""
    columns = [pc.fill_null(column, "-") for column in batch.columns]
    return pa.RecordBatch.from_pydict({"note": pc.binary_join_element_wise(*columns, "|")})


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    """amount: twice as much."""
    twice = [None if v is None else str(2 * float(v)) for v in batch.column("amount").to_pylist()]
    return pa.RecordBatch.from_pydict({"amount": twice})


def raising(batch: pa.RecordBatch) -> pa.RecordBatch:
    raise ValueError(f"can't deal with {batch.column('note').to_pylist()[0]}\nmore")


def raising_plainly(batch: pa.RecordBatch) -> pa.RecordBatch:
    raise KeyError("no_such_key")


def shorter(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(1)


def lacking(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(["id"])


def numbers(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"note": [1] * batch.num_rows})


def listed(batch: pa.RecordBatch) -> list[str]:
    return re.findall("a", "a")


NO_FUNCTION = 7


def not_a_number(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"amount": ["many"] * batch.num_rows})


def not_a_number_later(batch: pa.RecordBatch) -> pa.RecordBatch:
    amounts = batch.column("amount").to_pylist()
    return pa.RecordBatch.from_pydict({"amount": ["many" if v == "1000.00" else v for v in amounts]})


def not_of_two(batch: pa.RecordBatch) -> pa.RecordBatch:
    """note: as it is, but what has two letters."""
    notes = batch.column("note").to_pylist()
    return pa.RecordBatch.from_pydict({"note": ["n/a" if v and len(v) == 2 else v for v in notes]})


def raising_at(batch: pa.RecordBatch) -> pa.RecordBatch:
    """note: as it is, but for one with a percent sign."""
    for value in batch.column("note").to_pylist():
        if value is not None and "%" in value:
            raise ValueError(f"can't deal with {value}")
    return batch


def without_tail(batch: pa.RecordBatch) -> pa.RecordBatch:
    """note: without the letters at its end; for some texts the pattern takes for ever."""
    values = batch.column("note").to_pylist()
    return pa.RecordBatch.from_pydict({"note": [None if v is None else re.sub(r"(a+)+$", "", v) for v in values]})
