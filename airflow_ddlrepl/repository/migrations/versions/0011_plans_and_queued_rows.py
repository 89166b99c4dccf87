"""This migration makes the tables for plans of pending changes, and for rows in the error queues of targets."""

from __future__ import annotations

from alembic import op
from sqlalchemy import JSON, BigInteger, Column, Integer, PrimaryKeyConstraint, Text

from airflow_ddlrepl.repository.stored.tables import Moment

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "plans",
        Column("channel", Text, nullable=False),
        Column("target", Text, nullable=False),
        Column("table_id", BigInteger, nullable=False),
        Column("lsn", BigInteger, nullable=False),
        Column("seq", BigInteger, nullable=False),
        Column("low", BigInteger, nullable=False),
        Column("high", BigInteger, nullable=False),
        Column("revision", Integer),
        Column("fingerprint", Text, nullable=False),
        Column("run_id", Text, nullable=False),
        Column("planned", Moment, nullable=False),
        Column("content", JSON, nullable=False),
        PrimaryKeyConstraint("channel", "target", "table_id", "lsn", "seq"),
    )
    op.create_table(
        "queued_rows",
        Column("channel", Text, nullable=False),
        Column("target", Text, nullable=False),
        Column("number", Integer, nullable=False),
        Column("table_name", Text, nullable=False),
        Column("found", Moment, nullable=False),
        Column("content", JSON, nullable=False),
        PrimaryKeyConstraint("channel", "target", "number"),
    )
    op.create_index("queued_rows_of_table", "queued_rows", ["channel", "table_name"])
