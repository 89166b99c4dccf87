"""This migration stores the SQL of a step beside what it was for, as people read it in the history of a table."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

from airflow_ddlrepl.repository.stored.tables import SCHEMA

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    schema = None if op.get_bind().dialect.name == "sqlite" else SCHEMA  # no translated name in an ALTER
    op.add_column("ledger", Column("statement", Text), schema=schema)
