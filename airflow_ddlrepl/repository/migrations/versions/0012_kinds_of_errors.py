"""This migration stores the class of an error beside its code, so that nobody reads it out of the code any more."""

from __future__ import annotations

from alembic import op
from sqlalchemy import JSON, Column, Text, column, select, table, update

from airflow_ddlrepl.repository.stored.tables import SCHEMA

revision = "0012"
down_revision = "0011"

_BY_FAMILY = {"CON": "Unreachable", "RUL": "RuleError", "APL": "ApplyError"}
"""The classes that were read out of the codes of stored errors."""
_SUSPENDED = "INT-123"


def upgrade() -> None:
    schema = None if op.get_bind().dialect.name == "sqlite" else SCHEMA  # no translated name in an ALTER
    op.add_column("errors", Column("kind", Text), schema=schema)
    errors = table("errors", column("kind", Text), column("code", Text), schema=schema)
    for family, kind in _BY_FAMILY.items():
        op.execute(update(errors).where(errors.c.code.startswith(f"{family}-")).values(kind=kind))
    _name_suspensions(schema)


def _name_suspensions(schema: str | None) -> None:
    """Give stored failures of suspended tables their class, which had a general one."""
    ends = table("stage_ends", column("channel", Text), column("stage", Text), column("failure", JSON), schema=schema)
    connection = op.get_bind()
    for channel, stage, failure in connection.execute(select(ends.c.channel, ends.c.stage, ends.c.failure)).all():
        if failure is None:
            continue
        found = [failure, *failure.get("others", ())]
        late = [one for one in found if one.get("code") == _SUSPENDED]
        for one in late:
            one["kind"] = "TablesSuspended"
        if late:
            where = (ends.c.channel == channel) & (ends.c.stage == stage)
            connection.execute(update(ends).where(where).values(failure=failure))
