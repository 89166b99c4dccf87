"""Alembic runs this module, which migrates over the connection that upgrade() holds, inside its transaction."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from airflow_ddlrepl.repository.stored.tables import SCHEMA, metadata

connection: Connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table_schema=None if connection.dialect.name == "sqlite" else SCHEMA,
    transactional_ddl=True,
    render_as_batch=connection.dialect.name == "sqlite",
)
context.run_migrations()
