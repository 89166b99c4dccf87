"""Custom functions that the tests' rules call."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.streams.messages import Command, DdlLcr, RowLcr, UserMessage
from airflow_ddlrepl.streams.queue.call_context import CallContext, call_context
from airflow_ddlrepl.streams.queue.functions import takes_batches, with_table_names

CALLS: Counter[str] = Counter()
"""How often each function was called, by whom the test gives it to count."""


CONTEXTS: list[CallContext] = []
"""Who has called `asks`, call by call."""


def asks(message: RowLcr | UserMessage) -> RowLcr | UserMessage:
    """Notes who calls it."""
    CONTEXTS.append(call_context())
    return message


def hides_notes_of_t(lcr: RowLcr) -> RowLcr:
    """Concerns one table alone, whatever rule it belongs to."""
    return replace(lcr, new={**lcr.new, "note": "hidden"}) if lcr.name == "t" else lcr


@takes_batches
def ten_of_each_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Changes the rows with k up to 10."""
    at = batch.schema.get_field_index("a_k")
    return batch.set_column(at, "a_k", pc.if_else(pc.less_equal(batch["a_k"], 10), -1, batch["a_k"]))


def same(lcr: RowLcr) -> RowLcr:
    return lcr


def marked(lcr: RowLcr) -> RowLcr:
    return replace(lcr, new={**lcr.new, "mark": "x"}) if lcr.new else lcr


@takes_batches
def same_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


@takes_batches
def marked_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    at = batch.schema.get_field_index("a_mark")
    marks = pc.if_else(pc.equal(batch["op"], "DELETE"), batch["a_mark"], "x")
    return batch.set_column(at, "a_mark", marks)


def double(lcr: RowLcr) -> RowLcr:
    return replace(lcr, new={**lcr.new, "k": lcr.new["k"] * 2})


def twice(lcr: RowLcr) -> list[RowLcr]:
    return [lcr, replace(lcr, owner="copies", new={**lcr.new, "note": "a copy"})]


def nothing(_: RowLcr) -> list[RowLcr]:
    return []


def counted(lcr: RowLcr) -> RowLcr:
    """The note in capitals; counts its calls."""
    CALLS[f"{lcr.command} {lcr.owner}.{lcr.name}"] += 1
    return replace(lcr, new={**lcr.new, "note": str(lcr.new.get("note")).upper()})


def number_as_text(lcr: RowLcr) -> RowLcr:
    return replace(lcr, new={**lcr.new, "k": f"number {lcr.new['k']}"})


def split(lcr: RowLcr) -> RowLcr:
    first, last = lcr.new["note"].split()
    return replace(lcr, new={"id": lcr.new["id"], "first": first, "last": last})


def joined(lcr: RowLcr) -> RowLcr:
    return replace(lcr, new={"id": lcr.new["id"], "full": f"{lcr.new['k']} {lcr.new['note']}"})


def fresh(lcr: RowLcr) -> RowLcr:
    """An LCR of its own, which says nothing of its change at the source."""
    return RowLcr("made", "up", "nowhere", scn=17, transaction_id="none", new={"id": lcr.new["id"], "n": Decimal(1)})


def three(lcr: RowLcr) -> list[RowLcr]:
    return [replace(lcr, new={**lcr.new, "note": word}) for word in ("one", "two", "three")]


def as_message(_: RowLcr) -> UserMessage:
    return UserMessage("app.t")


def as_ddl(lcr: RowLcr) -> DdlLcr:
    return DdlLcr(lcr.owner, lcr.name, text="DROP TABLE hr.t")


def as_row(lcr: DdlLcr) -> RowLcr:
    return RowLcr(lcr.owner, lcr.name)


def retagged(lcr: RowLcr) -> RowLcr:
    return replace(lcr, tag=b"\x1d")


def to_pub(lcr: DdlLcr) -> DdlLcr:
    """The statement about pub.t, by the utility that changes the text, too."""
    return with_table_names(lcr, {"hr.t": "pub.t"})


def only_named(lcr: DdlLcr) -> DdlLcr:
    return replace(lcr, owner="pub")


def two_in_one(lcr: DdlLcr) -> DdlLcr:
    return replace(lcr, text=f"{lcr.text}; {lcr.text}")


def with_comment(lcr: DdlLcr) -> list[DdlLcr]:
    return [lcr, replace(lcr, command="COMMENT", text=f"COMMENT ON TABLE {lcr.owner}.{lcr.name} IS 'changed'")]


@takes_batches
def capitals(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The notes in capitals, k doubled; a column of its own."""
    columns = {name: batch[name] for name in batch.schema.names}
    columns["a_note"] = pc.utf8_upper(columns["a_note"])
    columns["a_length"] = pc.utf8_length(columns["a_note"])
    return pa.record_batch(columns)


@takes_batches
def even(batch: pa.RecordBatch) -> Any:
    """Rows with an even id."""
    stays = pc.equal(pc.bit_wise_and(batch["a_id"], 1), 0)
    return batch.filter(stays), stays


@takes_batches
def reversed_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(1)


@takes_batches
def no_batch(_: pa.RecordBatch) -> Any:
    return 17


@takes_batches
def strange_column(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.rename_columns(["c_id" if name == "a_id" else name for name in batch.schema.names])


@takes_batches
def nested(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.append_column("a_list", pa.array([[1]] * len(batch)))


@takes_batches
def short_mask(batch: pa.RecordBatch) -> Any:
    return batch, pa.array([True])


@takes_batches
def batch_raises(_: pa.RecordBatch) -> pa.RecordBatch:
    raise ValueError("not today")


@takes_batches
def batch_hangs(batch: pa.RecordBatch) -> pa.RecordBatch:
    time.sleep(60)
    return batch


def elsewhere(lcr: DdlLcr) -> DdlLcr:
    """The statement with another place in the log, of another transaction."""
    return replace(lcr, scn=1, commit_scn=1, transaction_id="none", text=f"{lcr.text} DEFAULT 1")


def raises(_: RowLcr) -> RowLcr:
    raise ValueError("not today")


def hangs(lcr: RowLcr) -> RowLcr:
    time.sleep(60)
    return lcr


def garbage(_: RowLcr) -> Any:
    return 17


def an_object(lcr: RowLcr) -> RowLcr:
    return replace(lcr, new={**lcr.new, "note": object()})


NO_FUNCTION = 1


def by_key(lcr: RowLcr) -> list[RowLcr]:
    """Rows with an odd key go into another table, too."""
    return [lcr, replace(lcr, name="odd")] if lcr.new["id"] % 2 else [lcr]


def as_update(lcr: RowLcr) -> RowLcr:
    return replace(lcr, command=Command.UPDATE, old=lcr.new)
