"""This migration adds the digests of the trail's manifests, and the marks by which an older copy is found out."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, PrimaryKeyConstraint, Text

from airflow_ddlrepl.repository.stored.tables import SCHEMA, Moment

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    schema = None if op.get_bind().dialect.name == "sqlite" else SCHEMA  # no translated name in an ALTER
    op.add_column("segments", Column("digest", Text), schema=schema)
    op.create_table(
        "loads",
        Column("channel", Text, nullable=False),
        Column("epoch", BigInteger, nullable=False),
        Column("name", Text, nullable=False),
        Column("digest", Text, nullable=False),
        PrimaryKeyConstraint("channel", "epoch", "name"),
    )
    op.create_table(
        "marks",
        Column("channel", Text, nullable=False),
        Column("number", BigInteger, nullable=False),
        Column("token", Text, nullable=False),
        Column("lsn", BigInteger, nullable=False),
        Column("made", Moment, nullable=False),
        PrimaryKeyConstraint("channel", "number"),
    )
