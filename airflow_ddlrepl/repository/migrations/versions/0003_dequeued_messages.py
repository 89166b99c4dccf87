"""This migration makes the table of the positions up to which messaging clients have taken messages."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, PrimaryKeyConstraint, Text

from airflow_ddlrepl.repository.stored.tables import Moment

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "dequeued",
        Column("channel", Text, nullable=False),
        Column("client", Text, nullable=False),
        Column("feed", Text, nullable=False),
        Column("epoch", BigInteger, nullable=False),
        Column("lsn", BigInteger, nullable=False),
        Column("seq", BigInteger, nullable=False),
        Column("updated", Moment, nullable=False),
        PrimaryKeyConstraint("channel", "client", "feed"),
    )
