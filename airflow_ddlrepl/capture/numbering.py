"""This module gives tables and columns the ids that a source does not give them.

A table that a statement renames keeps its id, and so does a column; what is dropped and made again under the same name
gets another one. The names of before are those of the last known revisions, the statements those of the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.capture.rename_order import in_rename_order
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide
from airflow_ddlrepl.sql.columns import ColumnChanges, column_changes
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.names import Reading, read
from airflow_ddlrepl.sql.renames import split_objects
from airflow_ddlrepl.sql.words import Named

BEGIN = Position(0)


@dataclass(frozen=True, slots=True)
class Numbering:
    """A numbering has the ids of a channel's tables and columns at a position of the log."""

    client: Client
    """Which tables get an id: those that the channel takes, and those that have one already."""
    dialect: Dialect
    """Of the source's statements."""
    position: Position = BEGIN
    tables: Mapping[int, Table] = field(default_factory=dict)
    last: int = 0
    """The greatest id that a table has ever had."""
    columns: Mapping[int, int] = field(default_factory=dict)
    """The greatest id that a column of each table has ever had."""

    def known(self, histories: Mapping[int, Sequence[Revision]], position: Position) -> Numbering:
        """Return the numbering at a position. histories: all revisions that tables have had up to there, in order."""
        tables = {i: one.table for i, revisions in histories.items() for one in revisions[-1:] if one.table is not None}
        columns = {
            i: max((column.id for one in revisions if one.table for column in one.table.columns), default=0)
            for i, revisions in histories.items()
        }
        return replace(self, position=position, tables=tables, last=max(columns, default=0), columns=columns)

    @property
    def names(self) -> dict[TableName, int]:
        """Return the ids of the tables by name.

        A table that an activation has found at the end of the log has the name of an older one, until that is dropped
        or renamed where the log is read: the older one comes first.
        """
        return {self.tables[i].name: i for i in sorted(self.tables, reverse=True)}

    def after(self, event: Event) -> tuple[Numbering, list[Event]]:
        """Return the numbering behind an event of the log, and the event with the ids of what it is about.

        An event about several tables is returned as one for each, at the places behind it, so that the tables can take
        their names one by one; where they swap their names, one of them gets another name first.
        """
        if event.kind not in (EventKind.DDL, EventKind.TRUNCATE):
            return self, [event]
        ids = self.names
        dropped = tuple((ids[name], name) for _, name in event.dropped if name in ids)
        if event.kind is EventKind.TRUNCATE:
            return self, [replace(event, dropped=dropped)]
        tables = {i: table for i, table in self.tables.items() if (i, table.name) not in dropped}
        text = event.statement or ""
        reading, changes = read(text, self.dialect), column_changes(text, self.dialect)
        for old, new in _renamed(event, reading, changes):
            ids = replace(self, tables=tables).names
            if old in ids:
                tables[ids[old]] = tables[ids[old]].with_(name=new)
        before = {i: self.tables[i] for i in tables}
        now = replace(self, tables=tables)
        ids = now.names
        found, filled = [], []
        for table in event.tables:
            is_new = table.name not in ids
            if is_new and not self._takes(table.name, ChangeKind.NEW_TABLE):
                continue
            now, numbered = now._with(table, ids.get(table.name), changes)
            found.append(numbered)
            if is_new and reading.operation != "CREATE":  # it had rows before its name was one of the channel's
                filled.append(numbered.id)
        numbered_event = replace(event, tables=tuple(found), dropped=dropped, filled=tuple(filled))
        return now, [numbered_event] if len(found) < 2 else list(_one_by_one(numbered_event, before, self.dialect))

    def shown(self, tables: Iterable[Table]) -> Numbering:
        """Return the numbering of what a catalog shows now: tables and columns are told apart by their names."""
        ids = self.names
        now = replace(self, tables={})
        for table in sorted(tables, key=lambda one: one.name):
            if table.name in ids or self._takes(table.name, ChangeKind.TABLE):
                known = self.tables.get(ids.get(table.name, 0))
                now, _ = now._with(table, ids.get(table.name), ColumnChanges(), known)
        return now

    def _takes(self, name: TableName, kind: ChangeKind) -> bool:
        return decide(self.client, name, kind).is_taken

    def _with(
        self, table: Table, table_id: int | None, changes: ColumnChanges, known: Table | None = None
    ) -> tuple[Numbering, Table]:
        """Return the numbering with this shape of a table, and the shape with its ids. table_id: None: a new table."""
        last = self.last if table_id is not None else self.last + 1
        before = known or (self.tables.get(table_id) if table_id is not None else None)
        table_id = table_id if table_id is not None else last
        fold = str.lower if self.dialect is Dialect.MYSQL else str
        old = {fold(column.name): column.id for column in before.columns} if before is not None else {}
        renamed = {fold(new): fold(name) for new, name in changes.renamed.items() if fold(new) != fold(name)}
        gone = {fold(name) for name in changes.dropped} | set(renamed.values())
        greatest = self.columns.get(table_id, 0)
        ids: dict[int, int] = {}
        for column in table.columns:
            name = fold(column.name)
            if name in renamed:
                name = renamed[name]
            elif name in gone:  # the statement has added it again
                name = ""
            if name in old:
                ids[column.id] = old[name]
            else:
                greatest += 1
                ids[column.id] = greatest
        numbered = _numbered(table, table_id, ids)
        tables = {**self.tables, table_id: numbered}
        return replace(self, tables=tables, last=last, columns={**self.columns, table_id: greatest}), numbered


def _renamed(event: Event, reading: Reading, changes: ColumnChanges) -> Iterable[tuple[TableName, TableName]]:
    """Yield the old and the new name of each table that a statement renames, in its order.

    A name without a schema is of the one that the statement ran in, or that of the tables it is about.
    """
    schema = next((table.name.schema for table in event.tables), "")

    def full(name: Named, of: str = "") -> TableName:
        return TableName(name.schema or of or event.settings.get("schema", schema), name.name)

    news = reading.new_names
    if not news and changes.table is not None and reading.objects:
        news = (changes.table,)
    for old, new in zip(reading.objects, news, strict=False):
        before = full(old)
        yield before, full(new, before.schema)


def _one_by_one(event: Event, before: Mapping[int, Table], dialect: Dialect) -> Iterator[Event]:
    """Yield an event about several tables as one for each, with the part of the statement that is about the table.

    Where a table gets another name first, no statement of the source has done that: then none is known.
    """
    tables = list(in_rename_order(before, event.tables))
    texts = split_objects(event.statement or "", dialect) if len(tables) == len(event.tables) else ()
    parts = {new.name: text for text in texts for new in read(text, dialect).new_names}
    for number, table in enumerate(tables):
        yield replace(
            event,
            key=LogKey(event.key.lsn, event.key.seq + number),
            statement=parts.get(table.name.name) if len(texts) != 1 else event.statement,
            tables=(table,),
            dropped=() if number else event.dropped,
            filled=tuple(i for i in event.filled if i == table.id),
        )


def _numbered(table: Table, table_id: int, ids: Mapping[int, int]) -> Table:
    """Return a shape with its table's id, and each column's id by the one that it had in this shape alone."""
    keys = {
        name: replace(key, columns=tuple(ids[i] for i in key.columns))
        for name, key in (("key", table.key), ("second_key", table.second_key))
        if key is not None
    }
    columns = tuple(replace(column, id=ids[column.id]) for column in table.columns)
    return table.with_(id=table_id, columns=columns, **keys)
