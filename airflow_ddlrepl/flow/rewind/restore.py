"""Restoring: tables of a replay get the rows that a refresh has kept in the trail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from airflow_ddlrepl.adapt.plan.plan import target_shape
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.config.condition.expression import Part
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.base.edit import free_name
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_type import ChangeType
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.engines.loading import ArchivedChunk, LoadTask, load_chunks
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.flow.mapping.row_filters import condition_at
from airflow_ddlrepl.flow.mapping.value_functions import transform_at
from airflow_ddlrepl.flow.refresh.refresh import Refresh
from airflow_ddlrepl.flow.rewind.raw_rows import beside, kept_shape, read_again, require_kept, tables_beside
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.refresh.chunks import PAGE_BYTES, Chunk
from airflow_ddlrepl.trail.loads import LoadedTable
from airflow_ddlrepl.transform.values import Transform


@dataclass
class Restore(Refresh):
    """A refresh whose rows come from the trail. kept: by table id."""

    kept: Mapping[int, LoadedTable]

    def work(self, tables: Sequence[Table]) -> list[tuple[Table, int, LoadTask]]:
        """Each chunk as it was kept; of rows that are read again, as they are read."""
        by_id = {table.id: table for table in tables}
        again = {i: self._reading(table) for i, table in by_id.items() if self._is_read(table)}
        parts = read_again(self.loader, again, self.context.runner.parallelism)
        found = [(by_id[i], pages, task) for i, pages, task in parts]
        for table in tables:
            if table.id not in again:
                tasks = self._kept_tasks(table, self.shadow(table), self._columns(table, self.shadow_shape(table)))
                share = -(-self.source.pages[table.id] // max(1, len(tasks)))
                found += [(table, share, task) for task in tasks]
        return found

    def _kept_tasks(self, table: Table, into: TableName, columns: tuple[tuple[str, str], ...]) -> list[LoadTask]:
        kept = self.kept[table.id]
        return [
            LoadTask(
                source_dsn="",
                target_dsn=self.context.target(self.into).location,
                snapshot="",
                table=table.name,
                shadow=into,
                columns=columns,
                low_page=0,
                high_page=None,
                token=str(self.context.token),
                chunk=f"{self.holder}/{table.id}/{number}",
                binary=kept.is_binary,
                kept=ArchivedChunk(self.context.channel.trail, self.context.channel.name, files),
            )
            for number, files in enumerate(kept.chunks)
        ]

    def _load(self, tables: Sequence[Table]) -> dict[int, int]:
        """Rows that a function gives values of are loaded beside as they were kept, and read from there."""
        shapes = {t.id: kept_shape(self._whole(t), self.kept[t.id].columns) for t in tables if self._is_read(t)}
        places = {table.id: beside(self.shadow(table)) for table in tables if table.id in shapes}
        with tables_beside(self.loader, {places[i]: shape for i, shape in shapes.items()}):
            tasks = [
                task
                for table in tables
                if table.id in shapes
                for task in self._kept_tasks(table, places[table.id], self._columns(table, shapes[table.id]))
            ]
            bundles = [(task,) for task in tasks]
            for (chunk,) in self.context.runner.map(load_chunks, bundles, "restore", size=self._size(shapes)):
                if chunk.error is not None:
                    raise chunk.error
            return super()._load(tables)

    def _size(self, of: Iterable[int]) -> int:
        return sum(self.source.pages[table_id] for table_id in of) * PAGE_BYTES

    def _is_read(self, table: Table) -> bool:
        return not table.is_partitioned and self.transforms[table.id] is not None

    def _reading(self, table: Table) -> LoadTask:
        """All of the rows that lie beside. Raises CannotAdapt REW-103 where a column was not kept."""
        condition, transform = condition_at(self.context.channel, self.into, table), self.transforms[table.id]
        require_kept(table, transform.reads if transform else (), self.kept[table.id].columns)
        return replace(
            self._task(table, Chunk(table.id, 0, 0, None)),
            source_dsn=self.context.target(self.into).location,
            beside=beside(self.shadow(table)),
            chunk=f"{self.holder}/{table.id}",
            wanted=condition,
        )

    def shadow_shape(self, table: Table) -> Table:
        """As what was kept: with the columns that are not to be here, and types as they were there."""
        if self._is_read(table):
            return super().shadow_shape(table)
        shape, spare, narrow = self.after[table.id].shape, self._spare(table), self._narrow(table)
        if not spare and not narrow:
            return shape
        columns = [narrow.get(column.id, column) for column in (*shape.columns, *spare.values())]
        whole = self._whole(table).types
        return shape.with_(
            columns=tuple(sorted(columns, key=lambda column: column.id)),
            types=tuple({of.oid: of for of in (*shape.types, *whole)}.values()),
        )

    def finish(self, table: Table) -> tuple[str, ...]:
        if self._is_read(table):
            return super().finish(table)
        shape, render = self.shadow_shape(table).with_(name=self.shadow(table)), self.renderer
        dropped = (render.sql(DropColumn(column), shape) for column in self._spare(table).values())
        widened = (render.sql(change, shape) for change in self._widened(table))
        return (*self._restricted(table), *chain.from_iterable((*dropped, *widened)), *super().finish(table))

    def transform(self, table: Table) -> Transform | None:
        """Whether the log told whole rows then matters to the log's rows alone."""
        return transform_at(self.context.channel, self.into, table)

    def rows_wanted(self, table: Table) -> Part | None:
        """What is kept is loaded whole: `finish` takes away what is not wanted."""
        return None

    def _restricted(self, table: Table) -> Iterator[str]:
        """Rows that the condition is not true for go while every kept column is there."""
        condition = condition_at(self.context.channel, self.into, table)
        if condition is None or table.is_partitioned:
            return
        ours = {column.id: column for column in self.shadow_shape(table).columns}
        here = {column.name: (column, ours[column.id]) for column in table.columns if column.id in ours}
        yield from self.loader.removing_unlike(self.shadow(table), condition, here)

    def _widened(self, table: Table) -> Iterator[SchemaChange]:
        wanted = self.after[table.id].shape
        for before in self._narrow(table).values():
            now = wanted.column(before.id)
            yield ChangeType(now.id, now.name, before, now.type, now.collation)
            if now.default:
                yield ChangeDefault(now.id, now.name, None, now.default)

    def _whole(self, table: Table) -> Table:
        """With all columns, under the source's names."""
        facts = TargetFacts(server_version=self.present.version, extensions=self.present.extensions)
        return target_shape(table, facts=facts)

    def _spare(self, table: Table) -> dict[int, Column]:
        """Columns that were kept and that get no values here, as the shadow table has them until it is loaded."""
        shape = self.after[table.id].shape
        filled = {c.id for c in shape.columns} & {c.id for c in self.read(table).columns}
        absent = {c.id for c in table.columns if c.name in self.kept[table.id].columns} - filled
        taken = {column.name for column in shape.columns}
        spare = [column for column in self._whole(table).columns if column.id in absent]
        return {c.id: Column(c.id, free_name(f"absent_{c.id}", taken), c.type, collation=c.collation) for c in spare}

    def _narrow(self, table: Table) -> dict[int, Column]:
        """Columns whose rows were kept in the binary format of another type than they have here, with that type."""
        if not self.kept[table.id].is_binary:
            return {}
        there, here = ({c.id: c for c in shape.columns} for shape in (self._whole(table), self.after[table.id].shape))
        typed = {c.id: (there[c.id], here[c.id]) for c in table.columns if c.id in there and c.id in here}
        return {
            i: replace(ours, type=theirs.type, collation=theirs.collation, default=None)
            for i, (theirs, ours) in typed.items()
            if not ours.generated and theirs.type.text != ours.type.text
        }

    def _columns(self, table: Table, shape: Table) -> tuple[tuple[str, str], ...]:
        """The kept columns and what they are called here. Raises CannotAdapt REW-103 where one does not fit."""
        kept = self.kept[table.id]
        theirs = {column.name: column for column in table.columns}
        ours = {column.id: column for column in shape.columns}
        found = []
        for name in kept.columns:
            column = ours.get(theirs[name].id)
            if column is None or column.generated or (kept.is_binary and column.type.text != theirs[name].type.text):
                raise CannotAdapt(
                    f"column {name} can't take the rows that were kept of type {theirs[name].type.text}",
                    code="REW-103",
                    table=table.name,
                    hint=f"the replay {self.target.name} lacks what the type needs (an extension?): create it there",
                )
            found.append((name, column.name))
        return tuple(found)
