"""This migration makes the table of what captures found at their sources."""

from __future__ import annotations

from alembic import op
from sqlalchemy import JSON, Column, Text

from airflow_ddlrepl.repository.stored.tables import Moment

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "source_records",
        Column("channel", Text, primary_key=True),
        Column("content", JSON, nullable=False),
        Column("updated", Moment, nullable=False),
    )
