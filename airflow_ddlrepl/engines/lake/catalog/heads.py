"""This module stores which snapshot of each table a window has ended with: what comes later has to come from there.

A table that somebody has taken back to an earlier snapshot, or made again, lacks rows of the channel, which no MERGE
could tell: so it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import BigInteger, Column, Connection, MetaData, String, Table, delete, insert, inspect, select
from sqlalchemy.sql.elements import ColumnElement

from airflow_ddlrepl.engines.lake.catalog.metadata import Head, follows, head
from airflow_ddlrepl.engines.lake.connection.files import Files
from airflow_ddlrepl.errors import TableReplaced
from airflow_ddlrepl.model.names import TableName

_SCHEMA = MetaData()
_heads = Table(
    "ddlrepl_heads",
    _SCHEMA,
    Column("catalog_name", String(255), primary_key=True),
    Column("schema_name", String(255), primary_key=True),
    Column("table_name", String(255), primary_key=True),
    Column("table_uuid", String(40), nullable=False),
    Column("snapshot_id", BigInteger),
    Column("sequence_number", BigInteger, nullable=False),
)


def create(connection: Connection) -> None:
    """Create our table, where it does not exist."""
    _SCHEMA.create_all(connection)


def store_heads(
    connection: Connection, catalog: str, now: Mapping[TableName, str], files: Files, gone: Iterable[TableName] = ()
) -> None:
    """Store the snapshots that tables have by these metadata files from the open transaction on."""
    create(connection)
    for name in {*now, *gone}:
        connection.execute(delete(_heads).where(*_at(catalog, name)))
    rows = []
    for name, path in now.items():
        last = head(path, files)
        rows.append(
            {
                "catalog_name": catalog,
                "schema_name": name.schema,
                "table_name": name.name,
                "table_uuid": last.table,
                "snapshot_id": last.snapshot,
                "sequence_number": last.number,
            }
        )
    if rows:
        connection.execute(insert(_heads), rows)


def store_again(connection: Connection, catalog: str, name: TableName, instead_of: TableName | None) -> None:
    """Store once more, in the open transaction, which snapshot a table has. instead_of: its name meanwhile."""
    found = connection.execute(select(_heads).where(*_at(catalog, name))).mappings().first()
    for one in {name, instead_of or name}:
        connection.execute(delete(_heads).where(*_at(catalog, one)))
    if found is not None:
        connection.execute(insert(_heads), [dict(found)])


def stored_head(connection: Connection, catalog: str, name: TableName) -> Head | None:
    """Return the snapshot that is stored of a table; None: nothing is stored of it."""
    if not inspect(connection).has_table(_heads.name):
        return None
    found = connection.execute(select(_heads).where(*_at(catalog, name))).first()
    return None if found is None else Head(found.table_uuid, found.snapshot_id, found.sequence_number)


def require_followed(connection: Connection, catalog: str, name: TableName, path: str, files: Files) -> None:
    """Raise TableReplaced TGT-114 where a table does not come from the snapshot that is stored.

    path: of the metadata file that it has now. files: of the warehouse.
    """
    last = stored_head(connection, catalog, name)
    if last is not None and not follows(path, files, last):
        raise TableReplaced(
            f"somebody has taken {name} in the lake back to an earlier state, or has made it again: it does not come"
            f" from snapshot {last.snapshot}, with which the channel has left it",
            code="TGT-114",
            table=name,
            hint="`ddlrepl refresh CHANNEL.yaml --table … --from-snapshot newest` takes it to that snapshot, while it"
            " has it still; without --from-snapshot it is loaded again",
        )


def _at(catalog: str, name: TableName) -> tuple[ColumnElement[bool], ...]:
    return (
        _heads.c.catalog_name == catalog,
        _heads.c.schema_name == name.schema,
        _heads.c.table_name == name.name,
    )
