"""This migration makes the table of the troubles that were told and are not over."""

from __future__ import annotations

from alembic import op
from sqlalchemy import JSON, Column, PrimaryKeyConstraint, Text

from airflow_ddlrepl.repository.stored.tables import Moment

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "troubles",
        Column("channel", Text, nullable=False),
        Column("key", Text, nullable=False),
        Column("since", Moment, nullable=False),
        Column("content", JSON, nullable=False),
        PrimaryKeyConstraint("channel", "key"),
    )
