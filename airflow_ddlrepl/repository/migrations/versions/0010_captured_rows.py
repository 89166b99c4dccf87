"""This migration makes the tables that count the captured rows of each table which a target may lack."""

from __future__ import annotations

from alembic import op
from sqlalchemy import JSON, BigInteger, Column, PrimaryKeyConstraint, Text

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "captured_rows",
        Column("channel", Text, nullable=False),
        Column("table_id", BigInteger, nullable=False),
        Column("low", BigInteger, nullable=False),
        Column("last", BigInteger, nullable=False),
        Column("rows", BigInteger, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        PrimaryKeyConstraint("channel", "table_id", "low"),
    )
    op.create_table(
        "counted_from",
        Column("channel", Text, primary_key=True),
        Column("position", BigInteger, nullable=False),
        Column("tables", JSON, nullable=False),
    )
