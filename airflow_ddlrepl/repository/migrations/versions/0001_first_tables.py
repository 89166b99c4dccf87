"""This migration makes the repository's first tables."""

from __future__ import annotations

from alembic import op
from sqlalchemy import JSON, BigInteger, Boolean, Column, Integer, PrimaryKeyConstraint, Text, UniqueConstraint

from airflow_ddlrepl.repository.stored.tables import Moment, Serial

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "channels",
        Column("name", Text, primary_key=True),
        Column("fingerprint", Text, nullable=False),
        Column("source", Text),
        Column("explained", Text),
        Column("server", Text),
        Column("lineage", Text),
        Column("publication", BigInteger),
        Column("state", Text, nullable=False),
        Column("epoch", BigInteger, nullable=False),
        Column("created", Moment, nullable=False),
        Column("activated", Moment),
        Column("updated", Moment, nullable=False),
    )
    op.create_table(
        "locks",
        Column("channel", Text, primary_key=True),
        Column("token", BigInteger, nullable=False),
        Column("next_epoch", BigInteger, nullable=False),
        Column("holder", Text),
        Column("process", Text),
        Column("since", Moment),
        Column("lease_until", Moment),
    )
    op.create_table(
        "tables",
        Column("channel", Text, nullable=False),
        Column("table_id", BigInteger, nullable=False),
        Column("schema_name", Text, nullable=False),
        Column("table_name", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("updated", Moment, nullable=False),
        PrimaryKeyConstraint("channel", "table_id"),
    )
    op.create_table(
        "revisions",
        Column("channel", Text, nullable=False),
        Column("table_id", BigInteger, nullable=False),
        Column("number", Integer, nullable=False),
        Column("lsn", BigInteger, nullable=False),
        Column("seq", BigInteger, nullable=False),
        Column("shape", JSON(none_as_null=True)),
        Column("origin", Text, nullable=False),
        Column("statement", Text),
        Column("is_ambiguous", Boolean, nullable=False),
        Column("xid", BigInteger),
        Column("seen", Text),
        Column("created", Moment, nullable=False),
        PrimaryKeyConstraint("channel", "table_id", "number"),
    )
    op.create_table(
        "positions",
        Column("channel", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("lsn", BigInteger, nullable=False),
        Column("updated", Moment, nullable=False),
        PrimaryKeyConstraint("channel", "kind"),
    )
    op.create_table(
        "segments",
        Column("channel", Text, nullable=False),
        Column("epoch", BigInteger, nullable=False),
        Column("low", BigInteger, nullable=False),
        Column("high", BigInteger, nullable=False),
        Column("rows", BigInteger, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        Column("files", Integer, nullable=False),
        Column("events", Integer, nullable=False),
        Column("token", BigInteger, nullable=False),
        Column("state", Text, nullable=False),
        Column("created", Moment, nullable=False),
        PrimaryKeyConstraint("channel", "epoch", "low"),
    )
    op.create_table(
        "events",
        Column("channel", Text, nullable=False),
        Column("epoch", BigInteger, nullable=False),
        Column("lsn", BigInteger, nullable=False),
        Column("seq", BigInteger, nullable=False),
        Column("kind", Text, nullable=False),
        Column("tag", Text, nullable=False),
        Column("statement", Text),
        Column("table_ids", JSON, nullable=False),
        Column("committed", Moment, nullable=False),
        PrimaryKeyConstraint("channel", "epoch", "lsn", "seq"),
    )
    op.create_table(
        "ledger",
        Column("channel", Text, nullable=False),
        Column("target", Text, nullable=False),
        Column("table_id", BigInteger, nullable=False),
        Column("revision", Integer, nullable=False),
        Column("step", Integer, nullable=False),
        Column("sql_hash", Text, nullable=False),
        Column("summary", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("at", Moment, nullable=False),
        PrimaryKeyConstraint("channel", "target", "table_id", "revision", "step"),
    )
    op.create_table(
        "controls",
        Column("id", Serial, primary_key=True, autoincrement=True),
        Column("channel", Text, nullable=False),
        Column("target", Text, nullable=False),
        Column("lsn", BigInteger, nullable=False),
        Column("seq", BigInteger, nullable=False),
        Column("reason", Text, nullable=False),
        Column("policy", Text, nullable=False),
        Column("created", Moment, nullable=False),
        Column("removed", Moment),
        UniqueConstraint("channel", "target", "lsn", "seq"),
    )
    op.create_table(
        "refreshes",
        Column("id", Serial, primary_key=True, autoincrement=True),
        Column("channel", Text, nullable=False),
        Column("target", Text, nullable=False),
        Column("table_id", BigInteger, nullable=False),
        Column("reason", Text, nullable=False),
        Column("how", Text, nullable=False),
        Column("requested_at", BigInteger, nullable=False),
        Column("state", Text, nullable=False),
        Column("rows", BigInteger),
        Column("created", Moment, nullable=False),
        Column("finished", Moment),
    )
    op.create_table(
        "runs",
        Column("channel", Text, nullable=False),
        Column("run_id", Text, nullable=False),
        Column("stage", Text, nullable=False),
        Column("token", BigInteger, nullable=False),
        Column("started", Moment, nullable=False),
        Column("ended", Moment),
        Column("status", Text, nullable=False),
        Column("result", JSON(none_as_null=True)),
        PrimaryKeyConstraint("channel", "run_id", "stage"),
    )
    op.create_table(
        "errors",
        Column("id", Serial, primary_key=True, autoincrement=True),
        Column("channel", Text, nullable=False),
        Column("run_id", Text, nullable=False),
        Column("stage", Text, nullable=False),
        Column("code", Text, nullable=False),
        Column("message", Text, nullable=False),
        Column("hint", Text, nullable=False),
        Column("table_name", Text),
        Column("at", Text),
        Column("created", Moment, nullable=False),
    )
