"""Archived rows are an origin of a refresh: tables of a rewind get the rows that a load has archived in the trail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from airflow_ddlrepl.adapt.plan.plan import target_shape
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.base.edit import free_name
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Using
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.engines.abilities.of_source import ArchivesRows
from airflow_ddlrepl.engines.abilities.rewinds import RereadsRows
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.chunks import chunk_bytes
from airflow_ddlrepl.engines.load_plan import ShadowChange, Step, UnlikeRows
from airflow_ddlrepl.engines.loading import load_chunks
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.engines.target import Loader
from airflow_ddlrepl.errors import CannotRewind
from airflow_ddlrepl.flow.refresh.row_origin import Chunk, Pairs, RowOrigin, ShapesAtTarget, TableLoad
from airflow_ddlrepl.flow.refresh.table_loader import load_tasks
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.trail.loads import LoadedTable


@dataclass
class ArchivedTables(RowOrigin):
    """Archived tables are loaded whole; the rows that the target does not take are removed before anybody sees them.

    Where a function gives values, they are loaded as raw rows beside the table first, and read from there.
    archives: by table id.
    """

    context: RunContext
    into: str
    loader: Loader
    shapes: ShapesAtTarget
    archives: Mapping[int, LoadedTable]

    @property
    def tables(self) -> Sequence[Table]:
        return self.shapes.tables

    @property
    def sizes(self) -> Mapping[int, int]:
        return {i: sum(file.size for files in archive.chunks for file in files) for i, archive in self.archives.items()}

    def load_of(self, table: Table) -> TableLoad:
        """Return what is loaded of a table.

        It is not asked whether the log has whole rows: that matters to the log's rows alone.
        """
        return self.shapes.load_of(table)

    @contextmanager
    def chunks(self, loads: Sequence[TableLoad]) -> Iterator[Sequence[Chunk]]:
        transformed = [load for load in loads if _is_transformed(load)]
        places = {load.table.id: raw_table(self.loader.shadow(load.table.id)) for load in transformed}
        shapes = {load.table.id: self._raw_shape(load) for load in transformed}
        plain = [load for load in loads if not _is_transformed(load)]
        found = [chunk for load in plain for chunk in self._archived(load, self.shadow_shape(load))]
        with raw_tables(self.loader, {place: shapes[i] for i, place in places.items()}):
            raw = [chunk for load in transformed for chunk in self._archived(load, shapes[load.table.id])]
            self._load_raw([(chunk, places[chunk.load.table.id]) for chunk in raw])
            sizes = able(self.loader, RereadsRows).sizes(places) if places else {}
            most = chunk_bytes(sizes.values(), self.context.runner.parallelism)
            for load in transformed:
                found += self._transformed(load, places[load.table.id], most)
            yield sorted(found, key=lambda chunk: -chunk.rows.size)

    def _archive(self, load: TableLoad) -> LoadedTable:
        return self.archives[load.table.id]

    def _raw_shape(self, load: TableLoad) -> Table:
        shape = raw_shape(self._whole(load.table), self._archive(load).columns)
        return shape.with_(columns=tuple(map(able(self.loader, RereadsRows).as_archived, shape.columns)))

    def _archived(self, load: TableLoad, shape: Table) -> list[Chunk]:
        """Return all chunks of a table as they were archived, for a table of this shape."""
        columns = self._columns(load, shape)
        channel = self.context.channel
        source = able(self.context.source, ArchivesRows)
        found = source.archived(channel.trail, channel.name, self._archive(load))
        return [Chunk(load, rows, columns) for rows in found]

    def _load_raw(self, chunks: Sequence[tuple[Chunk, TableName]]) -> None:
        bundles = [(task,) for task in load_tasks(self.context, self.into, chunks)]
        size = sum(chunk.rows.size for chunk, _ in chunks)
        for (chunk,) in self.context.runner.map(load_chunks, bundles, "restore", size=size):
            if chunk.error is not None:
                raise chunk.error

    def _transformed(self, load: TableLoad, place: TableName, most: int) -> list[Chunk]:
        """Return the raw rows with their values. Raises CannotRewind REW-103 where a column was not archived."""
        require_archived(load.table, load.transform.reads if load.transform else (), self._archive(load).columns)
        columns = tuple(theirs.name for theirs, _ in load.columns)
        selection = RowSelection(load.table, columns, load.condition, load.transform)
        return [
            Chunk(load, rows, load.columns) for rows in able(self.loader, RereadsRows).chunks(place, selection, most)
        ]

    def shadow_shape(self, load: TableLoad) -> Table:
        """Return the shape of the archived rows: with columns that are not to be here, and types as they were."""
        if _is_transformed(load):
            return load.after.shape
        shape, lacking, narrow = load.after.shape, self._lacking(load), self._narrow(load)
        if not lacking and not narrow:
            return shape
        columns = [narrow.get(column.id, column) for column in (*shape.columns, *lacking.values())]
        whole = self._whole(load.table).types
        return shape.with_(
            columns=tuple(sorted(columns, key=lambda column: column.id)),
            types=tuple({of.id: of for of in (*shape.types, *whole)}.values()),
        )

    def finishing(self, load: TableLoad, shadow: TableName) -> Iterator[Step]:
        if _is_transformed(load):
            return
        shape = self.shadow_shape(load).with_(name=shadow)
        if load.condition is not None:  # while every archived column is there
            ours = {column.id: column for column in shape.columns}
            here = {column.name: (column, ours[column.id]) for column in load.table.columns if column.id in ours}
            yield UnlikeRows(load.condition, here)
        for change in (*map(DropColumn, self._lacking(load).values()), *self._widened(load)):
            yield ShadowChange(change, shape)

    def _widened(self, load: TableLoad) -> Iterator[SchemaChange]:
        cut = {ours.id for _, ours in (*load.cut, *load.unfit)}
        types = load.after.settings.columns.types
        own = {column.id for column in load.table.columns if column.name in types}
        for before in (one for one in self._narrow(load).values() if one.id not in cut):
            now = load.after.shape.column(before.id)
            change = ChangeType.between(before, now, self.shapes.facts.type_system)
            yield replace(change, using=Using.AS_WRITTEN) if before.id in own else change
            if now.default:
                yield ChangeDefault(now.id, now.name, None, now.default)

    def _whole(self, table: Table) -> Table:
        """Return the table with all columns, under the source's names."""
        return target_shape(table, facts=TargetFacts(self.shapes.server))

    def _lacking(self, load: TableLoad) -> dict[int, Column]:
        """Return columns that were archived and get no values here, as the shadow table has them until it is loaded."""
        shape = load.after.shape
        filled = {c.id for c in shape.columns if not c.generated} & {c.id for c in load.read.columns}
        absent = {c.id for c in load.table.columns if c.name in self._archive(load).columns} - filled
        taken = {column.name for column in shape.columns}
        lacking = [column for column in self._whole(load.table).columns if column.id in absent]
        return {c.id: Column(c.id, free_name(f"absent_{c.id}", taken), c.type, collation=c.collation) for c in lacking}

    def _narrow(self, load: TableLoad) -> dict[int, Column]:
        """Return columns that were archived in binary format with another type than they have here, with that type."""
        if not self._keeps_types(load):
            return {}
        shapes = (self._whole(load.table), load.after.shape)
        there, here = ({c.id: c for c in shape.columns} for shape in shapes)
        typed = {c.id: (there[c.id], here[c.id]) for c in load.table.columns if c.id in there and c.id in here}
        return {
            i: replace(ours, type=theirs.type, collation=theirs.collation, default=None)
            for i, (theirs, ours) in typed.items()
            if not ours.generated and theirs.type.text != ours.type.text
        }

    def _keeps_types(self, load: TableLoad) -> bool:
        """Can the archived rows be loaded only into columns of the types that they were archived with?"""
        return self._archive(load).is_binary and not able(self.loader, RereadsRows).converts_archives

    def _columns(self, load: TableLoad, shape: Table) -> Pairs:
        """Return the archived columns, each with what takes its values. Raises CannotRewind REW-103 where one can't."""
        archive, keeps_types = self._archive(load), self._keeps_types(load)
        theirs = {column.name: column for column in load.table.columns}
        ours = {column.id: column for column in shape.columns}
        found = []
        for name in archive.columns:
            column = ours.get(theirs[name].id)
            if column is None or column.generated or (keeps_types and column.type.text != theirs[name].type.text):
                raise CannotRewind(
                    f"column {name} can't take the archived rows of type {theirs[name].type.text}",
                    code="REW-103",
                    table=load.table.name,
                    hint=f"the replay {self.into} lacks what the type needs (an extension?): create it there",
                )
            found.append((theirs[name], column))
        return found


def _is_transformed(load: TableLoad) -> bool:
    return not load.table.is_partitioned and load.transform is not None


def raw_table(shadow: TableName) -> TableName:
    """Return the name of the table that holds the raw rows of a table until they are read."""
    return TableName(shadow.schema, f"{shadow.name}_kept")


def raw_shape(whole: Table, columns: Sequence[str]) -> Table:
    """Return the source's table with the columns that were archived, which take every row that it had.

    whole: the source's table as it fits the place of the rewind.
    """

    def plain(column: Column) -> Column:
        return replace(column, nullable=True, default=None, missing=None, identity="", generated="")

    archived = tuple(plain(column) for column in whole.columns if column.name in columns)
    return whole.without_keys().with_(columns=archived, partition=None, partition_key=None)


def require_archived(table: Table, reads: Sequence[str], columns: Sequence[str]) -> None:
    """Raise CannotRewind REW-103 where a column that a function looks at was not archived."""
    if lacking := [name for name in reads if name not in columns]:
        raise CannotRewind(
            f"a function of `transform` reads {', '.join(lacking)}, which the trail does not contain",
            code="REW-103",
            table=table.name,
            hint="leave the column out of `reads` of the entry, or go to a position after a later refresh",
        )


@contextmanager
def raw_tables(loader: Loader, shapes: Mapping[TableName, Table]) -> Iterator[None]:
    """Create empty tables for raw rows, by name, and drop them at the end.

    Those of a run that fails are swept as shadows are.
    """
    for name, shape in shapes.items():
        loader.make_shadow(shape, name)
    yield
    if shapes:
        able(loader, RereadsRows).drop(shapes)
