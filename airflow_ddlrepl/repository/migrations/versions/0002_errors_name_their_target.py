"""This migration adds a column to errors: the target that the error is about."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

from airflow_ddlrepl.repository.stored.tables import SCHEMA

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    schema = None if op.get_bind().dialect.name == "sqlite" else SCHEMA  # no translated name in an ALTER
    op.add_column("errors", Column("target", Text), schema=schema)
