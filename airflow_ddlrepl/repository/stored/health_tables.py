"""This module defines the tables of what people look at."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, Index, Integer, PrimaryKeyConstraint, Table, Text

from airflow_ddlrepl.repository.stored.tables import Moment, metadata

# One row per channel: its newest status, as `ddlrepl status --json` prints it, and how long it took to find.
statuses = Table(
    "statuses",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("taken", Moment, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("reason", Text),  # why it could not be found; content is then an older one, taken at `taken`
    Column("content", JSON(none_as_null=True)),
)

# One row per channel and stage: how its newest run ended, also one that had nothing to do.
stage_ends = Table(
    "stage_ends",
    metadata,
    Column("channel", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("began", Moment, nullable=False),
    Column("ended", Moment, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("failing_since", Moment),
    Column("failure", JSON(none_as_null=True)),
    Column("progress", JSON(none_as_null=True)),
    PrimaryKeyConstraint("channel", "stage"),
)

# One row per cycle and target for two days, then one per hour.
lag_history = Table(
    "lag_history",
    metadata,
    Column("channel", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Column("is_hour", Boolean, nullable=False),
    Column("lag_seconds", Float),
    Column("lag_bytes", BigInteger),
    Column("rows", BigInteger, nullable=False),
    Column("schema_changes", BigInteger, nullable=False),
    Column("seconds", JSON, nullable=False),
    PrimaryKeyConstraint("channel", "target", "at"),
)

# One row per table with changes: when its newest one was captured, and how many were.
table_changes = Table(
    "table_changes",
    metadata,
    Column("channel", Text, nullable=False),
    Column("table_id", BigInteger, nullable=False),
    Column("changed", Moment, nullable=False),
    Column("rows", BigInteger, nullable=False),
    PrimaryKeyConstraint("channel", "table_id"),
)

# One row per trouble that was told and is not over; content: as it was told.
troubles = Table(
    "troubles",
    metadata,
    Column("channel", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("since", Moment, nullable=False),
    Column("content", JSON, nullable=False),
    PrimaryKeyConstraint("channel", "key"),
)

# Rows of a table in a segment that a target may lack: low, last: commits of the first and the last of them.
captured_rows = Table(
    "captured_rows",
    metadata,
    Column("channel", Text, nullable=False),
    Column("table_id", BigInteger, nullable=False),
    Column("low", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    PrimaryKeyConstraint("channel", "table_id", "low"),
)

# One row per channel: from where on all of its captured rows are counted; tables: from earlier on, by table id.
counted_from = Table(
    "counted_from",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("tables", JSON, nullable=False),
)

# One row per change of a table that is captured and that a target lacks: what it would do about the change.
plans = Table(
    "plans",
    metadata,
    Column("channel", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("table_id", BigInteger, nullable=False),
    Column("lsn", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("low", BigInteger, nullable=False),  # where the target, or its table, was when this was planned
    Column("high", BigInteger, nullable=False),  # the end of the log that was captured then
    Column("revision", Integer),  # NULL: the change makes none
    Column("fingerprint", Text, nullable=False),  # of the channel file's settings then
    Column("run_id", Text, nullable=False),
    Column("planned", Moment, nullable=False),
    Column("content", JSON, nullable=False),
    PrimaryKeyConstraint("channel", "target", "table_id", "lsn", "seq"),
)

# One row per row, or change of a row, that waits in the error queue of a target; content: its key and its error.
queued_rows = Table(
    "queued_rows",
    metadata,
    Column("channel", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("table_name", Text, nullable=False),  # at the target
    Column("found", Moment, nullable=False),
    Column("content", JSON, nullable=False),
    PrimaryKeyConstraint("channel", "target", "number"),
)
Index("queued_rows_of_table", queued_rows.c.channel, queued_rows.c.table_name)

OF_HEALTH = (
    statuses,
    stage_ends,
    lag_history,
    table_changes,
    troubles,
    captured_rows,
    counted_from,
    plans,
    queued_rows,
)
