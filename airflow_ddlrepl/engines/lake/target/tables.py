"""This module names our tables in the database of a lake's catalog."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Connection, Integer, MetaData, String, Table, Text, inspect

VERSION = 1
"""The version of our tables: it grows when an older version of the product must not write to them."""
SCHEMA = MetaData()
position = Table(
    "ddlrepl_position",
    SCHEMA,
    Column("channel", String(255), primary_key=True),
    Column("lsn", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("mark", Text),
    Column("version", Integer, nullable=False),
    Column("cut_over", Text),
)
tables = Table(
    "ddlrepl_tables",
    SCHEMA,
    Column("channel", String(255), primary_key=True),
    Column("table_id", BigInteger, primary_key=True, autoincrement=False),
    Column("schema_name", String(255), nullable=False),
    Column("table_name", String(255), nullable=False),
    Column("status", String(20), nullable=False),
    Column("state", Text, nullable=False),
)
unrecorded = Table(
    "ddlrepl_unrecorded",
    SCHEMA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("channel", String(255), nullable=False),
    Column("record", Text, nullable=False),
    sqlite_autoincrement=True,
)
discarded_rows = Table(
    "ddlrepl_discarded_rows",
    SCHEMA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("channel", String(255), nullable=False),
    Column("table_id", BigInteger, nullable=False),
    Column("row_key", Text, nullable=False),
    Column("lsn", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("row_values", Text, nullable=False),
    Column("discarded_at", String(40), nullable=False),
)
replayed = Table(
    "ddlrepl_replayed",
    SCHEMA,
    Column("channel", String(255), primary_key=True),
    Column("made_as", Text, nullable=False),
    Column("lsn", BigInteger, nullable=False),
)
replayed_names = Table(
    "ddlrepl_replayed_names",
    SCHEMA,
    Column("channel", String(255), primary_key=True),
    Column("schema_name", String(255), primary_key=True),
    Column("table_name", String(255), primary_key=True),
)


def create(connection: Connection) -> None:
    """Create our tables, where they do not exist."""
    SCHEMA.create_all(connection)


def is_there(connection: Connection, table: Table = position) -> bool:
    """Has the database our tables? table: one that lakes of earlier versions may not have."""
    return inspect(connection).has_table(table.name)
