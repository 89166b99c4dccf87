"""This module stores which folders of a warehouse each window writes to, so that what killed runs leave is removed.

A folder is one window's alone. It is stored before its first file is written, and forgotten in the transaction that
makes the window visible: so no snapshot names a file of a folder that is stored, and nobody else has written one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    insert,
    inspect,
    select,
)

from airflow_ddlrepl.engines.lake.connection.files import Files

_SCHEMA = MetaData()
_folders = Table(
    "ddlrepl_written",
    _SCHEMA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("window", String(255), nullable=False),
    Column("folder", Text, nullable=False),
)


def add_folders(connection: Connection, window: str, folders: Iterable[str]) -> None:
    """Store that a window is about to write to these folders, in the open transaction."""
    _SCHEMA.create_all(connection)
    connection.execute(insert(_folders), [{"window": window, "folder": folder} for folder in folders])


def forget_folders(connection: Connection, window: str) -> None:
    """Forget the folders of a window that becomes visible in the open transaction: their files are tables' from now."""
    if _is_there(connection):
        connection.execute(delete(_folders).where(_folders.c.window == window))


def windows(connection: Connection, beginning: str) -> list[str]:
    """Return the windows whose names begin so that have written files and are not visible."""
    if not _is_there(connection):
        return []
    names = select(_folders.c.window).where(_folders.c.window.startswith(beginning, autoescape=True)).distinct()
    return list(connection.execute(names).scalars())


def remove_files(connection: Connection, gone: Collection[str], files: Files) -> None:
    """Remove the files of windows that never become visible any more. files: of the warehouse.

    A folder is forgotten when it is found missing: Java of a driver that was killed may write there once more.
    """
    if not gone:
        return
    found = connection.execute(select(_folders).where(_folders.c.window.in_(gone))).all()
    for row in found:
        is_empty = not files.inside(row.folder)
        files.remove(row.folder)
        if is_empty:
            connection.execute(delete(_folders).where(_folders.c.id == row.id))


def _is_there(connection: Connection) -> bool:
    return inspect(connection).has_table(_folders.name)
