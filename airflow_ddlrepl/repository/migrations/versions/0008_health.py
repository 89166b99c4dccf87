"""This migration makes the tables of statuses, ends of stages, lag and changes, and says who removed a control."""

from __future__ import annotations

from alembic import op
from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, PrimaryKeyConstraint, Text

from airflow_ddlrepl.repository.stored.tables import SCHEMA, Moment

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    schema = None if op.get_bind().dialect.name == "sqlite" else SCHEMA  # no translated name in an ALTER
    op.add_column("controls", Column("removed_by", Text), schema=schema)
    op.create_table(
        "statuses",
        Column("channel", Text, primary_key=True),
        Column("taken", Moment, nullable=False),
        Column("run_id", Text, nullable=False),
        Column("stage", Text, nullable=False),
        Column("seconds", Float, nullable=False),
        Column("reason", Text),
        Column("content", JSON(none_as_null=True)),
    )
    op.create_table(
        "stage_ends",
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
    op.create_table(
        "lag_history",
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
    op.create_table(
        "table_changes",
        Column("channel", Text, nullable=False),
        Column("table_id", BigInteger, nullable=False),
        Column("changed", Moment, nullable=False),
        Column("rows", BigInteger, nullable=False),
        PrimaryKeyConstraint("channel", "table_id"),
    )
