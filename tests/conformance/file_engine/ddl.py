"""The DDL of a target of files: statements are JSON, and run on one file each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_type import ChangeType
from airflow_ddlrepl.ddl.columns.fill_column import FillColumn
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.drop_table import DropTable
from airflow_ddlrepl.ddl.tables.rename_table import RenameTable
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.errors import AlterRefused, Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.target_columns import DELETED, history_columns
from tests.conformance.file_engine.files import Files, TableFile
from tests.conformance.file_engine.types import FileTypes

TYPE_KINDS = frozenset(["create_type", "forget_type", "rename_type", "change_type_definition", "replace_type"])
REFUSED_KINDS = frozenset(["attach_partition", "detach_partition", "change_generated", "change_partition_key"])


@dataclass(frozen=True, slots=True)
class FileDdl(Renderer):
    """Values are texts: most changes of a type change no row."""

    def sql(self, change: SchemaChange, before: Table | None) -> tuple[str, ...]:
        if change.kind in TYPE_KINDS:
            return ()
        if isinstance(change, CreateTable) and not change.table.is_partitioned and change.table.partition is None:
            return (_statement("create", change.table.name, shape=change.table.to_json()),)
        if isinstance(change, DropTable):
            return (_statement("drop", change.table.name),)
        assert before is not None, change
        if isinstance(change, RenameTable):
            return (_statement("rename", change.old, to=list(change.new)),)
        if isinstance(change, Truncate):
            return (_statement("truncate", before.name),)
        if change.kind in REFUSED_KINDS or (
            isinstance(change, ChangeType) and not FileTypes().widens(change.old.type, change.type)
        ):
            raise Unsupported(
                f"files have no statement for {change}",
                code="ADP-110",
                table=before.name,
                hint="drop the target table and refresh this table",
            )
        after = change.apply(before)
        assert after is not None
        fill = {}
        if isinstance(change, AddColumn) and change.column.missing is not None:
            fill = {str(change.column.id): change.column.missing}
        if isinstance(change, FillColumn):
            fill = {str(change.column.id): change.value}
        return (_statement("alter", before.name, shape=after.to_json(), fill=fill, why=str(change)),)

    def rows_into(self, table: TableName, of: Table) -> tuple[str, ...]:
        return (_statement("copy", of.name, to=list(table)),)


def _statement(what: str, name: TableName, **more: Any) -> str:
    return json.dumps({"do": what, "table": list(name), **more})


class Executor:
    """Runs statements. Each is one write, or one rename of a file."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def execute(self, statement: str) -> None:
        """Raises AlterRefused ADP-130."""
        data = json.loads(statement)
        do: Callable[[TableName, dict[str, Any]], None] = getattr(self, f"_{data['do']}")
        do(TableName(*data["table"]), data)

    def _create(self, name: TableName, data: dict[str, Any]) -> None:
        if self.files.read(name) is not None:
            raise _refused(f"there is a table {name} already")
        self.files.write(name, TableFile(Table.from_json(data["shape"]).with_(name=name), []))

    def _drop(self, name: TableName, data: dict[str, Any]) -> None:
        self.files.path(name).unlink(missing_ok=True)

    def _rename(self, name: TableName, data: dict[str, Any]) -> None:
        to = TableName(*data["to"])
        self._table(name)
        if self.files.read(to) is not None:
            raise _refused(f"there is a table {to} already")
        self.files.path(name).rename(self.files.path(to))

    def _truncate(self, name: TableName, data: dict[str, Any]) -> None:
        table = self._table(name)
        if history_columns(table.shape) is not None:
            raise _refused("files note no TRUNCATE in a history")
        flag = {str(column.id): "t" for column in table.shape.columns if column.extra == DELETED}
        table.rows = [{**row, **flag} for row in table.rows] if flag else []
        self.files.write(name, table)

    def _alter(self, name: TableName, data: dict[str, Any]) -> None:
        table, shape = self._table(name), Table.from_json(data["shape"])
        ids = [str(column.id) for column in shape.columns]
        rows = [{i: row.get(i, data["fill"].get(i)) for i in ids} for row in table.rows]
        if "fill_column" in data["why"]:
            rows = [{**row, **data["fill"]} for row in rows]
        for column in shape.columns:
            if not column.nullable and any(row[str(column.id)] is None for row in rows):
                raise _refused(f"column {column.name} of {name} has NULLs", by_rows=True)
        table.shape, table.rows = shape.with_(name=name), rows
        self.files.write(name, table)

    def _copy(self, name: TableName, data: dict[str, Any]) -> None:
        to = TableName(*data["to"])
        into, rows = self._table(to), self._table(name).rows
        ids = [str(column.id) for column in into.shape.columns]
        into.rows += [{i: row.get(i) for i in ids} for row in rows]
        self.files.write(to, into)

    def _place(self, name: TableName, data: dict[str, Any]) -> None:
        """A loaded shadow becomes the table; another name of it goes."""
        shadow = self.files.root / "shadows" / data["shadow"]
        table = TableFile.from_json(json.loads((shadow / "shape").read_text()))
        for chunk in sorted(shadow.glob("chunk_*")):
            table.rows += json.loads(chunk.read_text())
        table.shape = table.shape.with_(name=name)
        self.files.write(name, table)

    def _table(self, name: TableName) -> TableFile:
        found = self.files.read(name)
        if found is None:
            raise _refused(f"there is no table {name}")
        return found


def place(shadow: TableName, name: TableName) -> str:
    """The statement that makes a loaded shadow the table of this name."""
    return _statement("place", name, shadow=shadow.name)


def drop(name: TableName) -> str:
    """The statement that removes a table."""
    return _statement("drop", name)


def _refused(why: str, *, by_rows: bool = False) -> AlterRefused:
    error = AlterRefused(why, code="ADP-130", hint="what came before it is applied")
    error.by_rows = by_rows
    return error
