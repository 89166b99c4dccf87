"""A window is what one run changes in a lake: staged where no reader looks, and made visible all at once.

A table is staged when it is first touched: an entry of our own catalog gets its metadata file, and what is committed
there leads to new metadata files that readers are not led to yet. `commit` ends what is open, `flip` moves the pointers
that readers have, in the caller's transaction. Names are those of the end: a renamed table has its new one at once.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.entries import add_entry, add_namespace, forget_namespace, pointer
from airflow_ddlrepl.engines.lake.catalog.heads import store_heads
from airflow_ddlrepl.engines.lake.catalog.metadata import WINDOW, properties, table_folder, write_like
from airflow_ddlrepl.engines.lake.catalog.pointers import pointers
from airflow_ddlrepl.engines.lake.catalog.port import METADATA, Move
from airflow_ddlrepl.engines.lake.catalog.written import add_folders, forget_folders, remove_files, windows
from airflow_ddlrepl.engines.lake.connection.conflicts import written_meanwhile
from airflow_ddlrepl.engines.lake.connection.database import reading, writing
from airflow_ddlrepl.engines.lake.connection.files import Files
from airflow_ddlrepl.engines.lake.connection.java import java_table
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.connection.quoting import literal, quote
from airflow_ddlrepl.engines.lake.connection.session import lake_session
from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.errors import TableReplaced
from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DATA = "write.data.path"
POSITION, LOADED = "ddlrepl.position", "ddlrepl.loaded"
"""What the snapshot of a window, and that of a load, says of itself: a position of the source's log, as a number.

The table has what was committed before the one; a load has what the source showed there, and maybe lacks of it what was
just about to be committed.
"""
SHAPE = "ddlrepl.shape"
"""What the snapshot of a window says of itself besides: a digest of the shape and settings that the table had then."""


class WindowKind(StrEnum):
    """A kind of windows is the letter with which the name of a window begins, behind the channel's part."""

    APPLY = "a"
    ROLL_BACK = "b"
    CHANGE_STATE = "c"
    LOAD = "l"
    MAINTAIN = "m"
    REPAIR = "p"


_DELETES = "write.metadata.delete-after-commit.enabled"
"""A table that removes old metadata files must not remove, for a window that is open, the one that readers have."""
TARGET_FILE_SIZE = str(128 << 20)
"""So large files become: larger ones leave fewer files that a merge can pass over."""
PROPERTIES = {
    "write.merge.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.delete.mode": "merge-on-read",
    "write.distribution-mode": "none",
    "write.merge.distribution-mode": "none",
    "write.parquet.compression-codec": "zstd",
    "write.target-file-size-bytes": TARGET_FILE_SIZE,
}
"""The properties of tables that we make."""


@dataclass(frozen=True, slots=True)
class _Staged:
    """A staged table is an entry of our catalog. origin: the table's name when it was staged; None: it is new.

    base: the metadata file that it had then. begun: that of the window, before anything else is done.
    """

    entry: TableName
    origin: TableName | None = None
    base: str = ""
    begun: str = ""


Check = Callable[[Connection, str, TableName, str, Files], None]


def any_table(connection: Connection, catalog: str, name: TableName, metadata: str, files: Files) -> None:
    """Refuse no table."""


@dataclass
class Window:
    """A window has a namespace of its own in our catalog of a lake; `begin` removes what another has left there.

    check: refuses a table that is touched, by the catalog's name of it and its metadata file; without one any is taken.
    """

    location: str = field(repr=False)
    namespace: str
    check: Check = any_table
    _tables: dict[TableName, _Staged] = field(default_factory=dict)
    _touched: dict[TableName, str] = field(default_factory=dict)
    _open: dict[TableName, Any] = field(default_factory=dict)
    _made: int = 0
    _mark: str = field(default_factory=lambda: secrets.token_hex(4))

    @property
    def spark(self) -> SparkSession:
        """Return the session that writes the tables."""
        return lake_session(self.location)

    @property
    def name(self) -> str:
        """Return the name that only this window has, and with it its folders."""
        return f"{self.namespace}_{self._mark}"

    @property
    def files(self) -> Files:
        """Return the files of the warehouse."""
        return location_of(self.location).files

    @property
    def tables(self) -> Collection[TableName]:
        """Return the names of the tables that the window changes or makes, as it leaves them."""
        return self._tables.keys()

    def begin(self) -> None:
        """Remove what an earlier window of this namespace has left."""
        with writing(self.location) as connection:
            forget_namespace(connection, location_of(self.location).spark_catalog, self.namespace)
            remove_files(connection, windows(connection, f"{self.namespace}_"), self.files)

    def has(self, name: TableName) -> bool:
        """Is there a table of this name, as things stand in the window?"""
        if name in self._tables or name in self._touched:
            return name in self._tables
        with reading(self.location) as connection:
            return pointers(location_of(self.location)).of(connection, name) is not None

    def table(self, name: TableName) -> str:
        """Return the quoted name under which a table can be read and written in Spark.

        Raises TableReplaced TGT-113 where there is no such table.
        """
        self.stage([name])
        if name in self._open:
            self._open.pop(name).commitTransaction()
        return self._quoted(self._tables[name])

    def transaction(self, name: TableName) -> Any:
        """Return the transaction of Iceberg's Java in which a table is changed until it is read, written or committed.

        Raises TableReplaced TGT-113 where there is no such table.
        """
        if name not in self._open:
            self._open[name] = java_table(self.spark, self.table(name)).newTransaction()
        return self._open[name]

    def commit(self) -> None:
        """Commit the open transactions; Java opens the catalog's database for it, so nobody else has it open."""
        for name in [*self._open]:
            self.table(name)

    def metadata(self, name: TableName) -> str:
        """Return the path of the metadata file that a table has, as things stand in the window."""
        self.table(name)
        with reading(self.location) as connection:
            return self._pointer(connection, self._tables[name])

    def stage(self, names: Iterable[TableName]) -> None:
        """Stage tables, all in the same transactions. Raises TableReplaced TGT-113 where there is no such table."""
        new = [name for name in dict.fromkeys(names) if name not in self._tables]
        if not new:
            return
        with writing(self.location) as connection:
            bases = {name: self._base(connection, name) for name in new}
            folders = {name: self._named_folders(name, base) for name, base in bases.items()}
            add_folders(connection, self.name, [one for each in folders.values() for one in each.values()])
        staged = {}
        for name, base in bases.items():
            ours = folders[name]
            with file_refusals(name):
                begun = write_like(
                    base, self.files, ours[METADATA], {**properties(base, self.files), **ours, _DELETES: "false"}
                )
            staged[name] = _Staged(self._next(), name, base, begun)
        with writing(self.location) as connection:
            for one in staged.values():
                add_entry(connection, location_of(self.location).spark_catalog, one.entry, one.begun)
        self._touched |= bases
        self._tables |= staged

    def create(
        self, name: TableName, columns: str, partitions: str = "", properties: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Make a new table. columns, partitions: as Spark's SQL has them. properties: besides those of all tables."""
        place = location_of(self.location)
        staged = _Staged(self._next())
        folder = f"{place.tables}/{_in_path(name.schema)}/{_in_path(name.name)}-{secrets.token_hex(4)}"
        of_table = {"format-version": str(place.format_version), **PROPERTIES, **properties}
        listed = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in of_table.items())
        by = f" PARTITIONED BY ({partitions})" if partitions else ""
        with writing(self.location) as connection:
            add_namespace(connection, place.spark_catalog, self.namespace)
            add_folders(connection, self.name, [folder])
        self.spark.sql(
            f"CREATE TABLE {self._quoted(staged)} ({columns}) USING iceberg{by} LOCATION {literal(folder)}"
            f" TBLPROPERTIES ({listed})"
        )
        with reading(self.location) as connection:
            self._tables[name] = replace(staged, begun=self._pointer(connection, staged))

    def rename(self, old: TableName, new: TableName) -> None:
        """Give a table another name, which no table has."""
        self.table(old)
        self._tables[new] = self._tables.pop(old)

    def drop(self, name: TableName) -> None:
        """Remove a table; its files stay. Raises TableReplaced TGT-113 where there is no such table."""
        self.table(name)
        del self._tables[name]

    def flip(
        self, connection: Connection, summaries: Mapping[TableName, Mapping[str, str]] = MappingProxyType({})
    ) -> None:
        """Make what was committed visible, in the open transaction, unless somebody else has written to a table.

        summaries: what the newest snapshot of each table is to say of itself, where the window has made it.
        Raises WrittenMeanwhile TGT-112 for a table that was written to, CannotAdapt ADP-104 for a name that is taken.
        """
        assert not self._open, "a window is committed before it is seen"
        place = location_of(self.location)
        now = pointers(place).publish(connection, self.name, self._moves(connection, summaries))
        store_heads(connection, place.catalog, now, self.files, self._touched)
        forget_namespace(connection, place.spark_catalog, self.namespace)
        forget_folders(connection, self.name)

    def _moves(self, connection: Connection, summaries: Mapping[TableName, Mapping[str, str]]) -> list[Move]:
        """Return what becomes of each table that the window has touched or made."""
        found = []
        for name, one in self._tables.items():
            now, summary = self._pointer(connection, one), {WINDOW: self.name, **summaries.get(name, {})}
            if one.origin is None:
                found.append(Move(name, None, one.begun, one.begun, now, {}, summary))
            else:
                ours = {**self._folders(one.base), _DELETES: "false"}
                found.append(Move(name, one.origin, one.base, one.begun, now, ours, summary))
        gone = self._touched.keys() - {one.origin for one in self._tables.values()}
        return [*found, *(Move(None, name, self._touched[name]) for name in sorted(gone))]

    def _base(self, connection: Connection, name: TableName) -> str:
        """Return the metadata file that a table has which is not staged yet."""
        catalog = location_of(self.location).catalog
        base = None if name in self._touched else pointers(location_of(self.location)).of(connection, name)
        if base is None:
            raise TableReplaced(
                f"the lake has no table {name}",
                code="TGT-113",
                table=name,
                hint="was it dropped or renamed there? `ddlrepl refresh --table` makes it again",
            )
        with file_refusals(name):
            self.check(connection, catalog, name, base, self.files)
        return base

    def _named_folders(self, name: TableName, base: str) -> dict[str, str]:
        with file_refusals(name):
            return self._folders(base)

    def _folders(self, base: str) -> dict[str, str]:
        """Return the properties that have a table's files written to folders of the window's own."""
        before, table = properties(base, self.files), table_folder(base, self.files)
        usual = {_DATA: f"{table}/data", METADATA: f"{table}/metadata"}
        return {key: f"{before.get(key, folder).rstrip('/')}/{self.name}" for key, folder in usual.items()}

    def _next(self) -> TableName:
        self._made += 1
        return TableName(self.namespace, f"t{self._made}")

    def _quoted(self, one: _Staged) -> str:
        parts = (location_of(self.location).spark_catalog, *one.entry)
        return ".".join(map(quote, parts))

    def _pointer(self, connection: Connection, one: _Staged) -> str:
        found = pointer(connection, location_of(self.location).spark_catalog, one.entry)
        if found is None:  # another run has removed what this one has staged
            raise written_meanwhile(one.origin or one.entry)
        return found


def _in_path(name: str) -> str:
    """Return a name as a part of a path; a number behind it tells tables apart whose names differ in other signs."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)
