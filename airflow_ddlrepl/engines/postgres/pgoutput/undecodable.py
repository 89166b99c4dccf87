"""This module finds rows whose texts are no UTF-8: a database in SQL_ASCII takes any bytes, and sends them as they are.

They can't be stored as texts, and no target takes them. So their table waits for a refresh from their place in the log
on, and the rows of all other tables go on. Clients of Streams have no refresh: it is told how many changes they lack.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from airflow_ddlrepl.capture.row_layouts import unreadable_event
from airflow_ddlrepl.engines.postgres.connection.escaped import readable_name
from airflow_ddlrepl.engines.postgres.pgoutput.decoder import Decoded
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.ports.row_layout import Layout

RAW = "SQL_ASCII"
"""The encoding of a database whose server does not look at the bytes of texts."""


def decodable(decoded: Decoded, *, is_queue: bool) -> Decoded:
    """Return what a batch of messages contained, with an event in the place of rows of a table that are no UTF-8.

    is_queue: do clients of Streams read it?
    """
    rows, events = [], list[Event]()
    for layout, batch in decoded.rows:
        why = _bad_name(layout) or _bad_text(batch)
        if why:
            events.append(_event(layout, batch, why, is_queue=is_queue))
        else:
            rows.append((layout, batch))
    return replace(decoded, rows=rows, events=[*decoded.events, *events]) if events else decoded


def _bad_name(layout: Layout) -> str:
    """Return which of the names of a layout is no UTF-8; empty: all are."""
    names = (layout.schema, layout.name, *(column.name for column in layout.columns))
    bad = next((name for name in names if name != readable_name(name)), "")
    return f"the name {readable_name(bad)} has bytes that are no UTF-8" if bad else ""


def _bad_text(batch: pa.RecordBatch) -> str:
    """Return which column has a text that is no UTF-8, with an example; empty: there is none."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_string(column.type):
            try:
                column.validate(full=True)
            except pa.ArrowInvalid:
                what = str(name).partition("_")[2]
                return f"column {what} has bytes that are no UTF-8 ({_example(column)})"
    return ""


def _event(layout: Layout, batch: pa.RecordBatch, what: str, *, is_queue: bool) -> Event:
    first, last = (int(batch["lsn"][place].as_py()) for place in (0, -1))
    at = LogKey(first, int(batch["seq"][0].as_py()))
    why = f"{what}: the database's encoding is {RAW}; correct them there"
    if is_queue:
        name = TableName(readable_name(layout.schema), readable_name(layout.name))
        counted = f"{batch.num_rows} changes"
        at = LogKey(last, int(batch["seq"][-1].as_py()))
        lacking = ((layout.table_id, name),)
        return Event(EventKind.IGNORED, at, 0, 0, statement=counted, dropped=lacking, discarded=why)
    return unreadable_event(layout.table_id, at, Position(last), why)


def _example(column: pa.Array) -> str:
    """Return the bytes around the first that are no UTF-8, in hexadecimal digits."""
    for value in column.cast(pa.binary()).drop_null().to_pylist():
        try:
            value.decode()
        except UnicodeDecodeError as error:
            return bytes(value[max(0, error.start - 4) : error.start + 4]).hex()
    return ""
