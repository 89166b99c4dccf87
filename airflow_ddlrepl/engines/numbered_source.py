"""This module is a source whose tables and columns have no ids that survive a rename: capture numbers them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

from airflow_ddlrepl.capture.numbering import Numbering
from airflow_ddlrepl.engines.source import LogWindow, Source
from airflow_ddlrepl.engines.source_catalog import Catalog, RowSelection, SourceCatalog, SourceSnapshot
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.visibility import SnapshotAt, Visibility
from airflow_ddlrepl.ports.log import LogBatch, LogRange, LogRanges
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.sql.dialect import Dialect

Known = Callable[[Numbering, Position | None], Numbering]
"""This function fills a numbering with the tables that are known at a position; None: where capture is."""


class NumberedSource(Source, ABC):
    """A numbered source has no ids of its tables and columns; capture gives them by the names in the log.

    So its log has the text of every schema change, and the shape of the tables after it. In the shapes that it gives,
    tables have the id 0, and columns the ids 1, 2, 3 in their order. Its snapshots lie at a position of its log. In a
    transaction, nothing has the ordinals behind an event about several tables, two for each.
    dialect: of its statements.
    """

    dialect: Dialect
    known: Known = staticmethod(lambda numbering, position: numbering)
    """Returns the numbering that the channel's repository knows."""

    @abstractmethod
    def read_names(self, low: Position, high: Position) -> Sequence[LogRange]:
        """Return the ranges of the log in their order; its tables have names alone."""

    @abstractmethod
    def named_snapshot(self) -> AbstractContextManager[SourceSnapshot]:
        """Open a snapshot of all tables, which have names alone."""

    @property
    def catalog(self) -> SourceCatalog:
        """Return the catalog, with the ids of the tables."""
        return NumberedCatalog(self)

    def read_log(self, window: LogWindow) -> LogRanges:
        """Return how a window is read: in one piece, for its statements say which names are of which table."""
        read = tuple(self.read_names(window.low, window.high))
        return LogRanges([NumberedRange(window.low, window.high, read, self.numbering(window.low))])

    @contextmanager
    def snapshot(self, table_ids: Sequence[int], log_identity: str) -> Iterator[SourceSnapshot]:
        """Open a snapshot of these tables."""
        with self.named_snapshot() as found:
            tables = self.shown(found).tables
            wanted = tuple(tables[i] for i in table_ids if i in tables)
            yield NumberedSnapshot(found, wanted)

    def numbering(self, position: Position | None) -> Numbering:
        """Return the ids that are known at a position of the log; None: up to which it is captured."""
        return self.known(Numbering(Client(self.scope), self.dialect), position)

    def shown(self, snapshot: SourceSnapshot) -> Numbering:
        """Return the ids of the tables of a snapshot: those that are known, with what statements did since.

        Where the log lacks such statements, its tables are those of the same names.
        """
        now, high = self.numbering(None), snapshot.snapshot.high
        if now.last and self.log_begin() <= now.position < high:
            for one in self.read_names(now.position, high):
                for batch in one.read():
                    for event in batch.events:
                        now, _ = now.after(event)
        return now.shown(snapshot.tables)


@dataclass(frozen=True)
class NumberedCatalog(SourceCatalog):
    """The catalog of a numbered source."""

    source: NumberedSource

    def inspect_catalog(self, known: str) -> Catalog:
        """Return all shapes, by names alone.

        The catalog has seen nothing: of a table that a statement in the log is about, the statement says the shape.
        """
        with self.source.named_snapshot() as found:
            return Catalog("", list(found.tables), frozenset(), SnapshotAt(Position(0)))

    def known(self, catalog: Catalog) -> Catalog:
        """Return the catalog with the tables that the repository knows now, found by their names."""
        before = self.source.numbering(None)
        tables = before.shown(catalog.tables or ()).tables
        return replace(catalog, tables=[table for i, table in tables.items() if i in before.tables])

    def inspect(self, table_ids: Collection[int]) -> list[Table]:
        """Return the shapes of those of these tables that exist."""
        return [table for i, table in self._tables().items() if i in table_ids]

    def list_tables(self) -> dict[int, TableName]:
        """Return ids and names of the tables of the channel's scope."""
        return {i: table.name for i, table in self._tables().items()}

    def _tables(self) -> dict[int, Table]:
        with self.source.named_snapshot() as found:
            return dict(self.source.shown(found).tables)


@dataclass(frozen=True)
class NumberedSnapshot(SourceSnapshot):
    """A numbered snapshot gives the tables of one their ids. known: those that were asked for."""

    named: SourceSnapshot
    known: tuple[Table, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables that are still there, with their shapes at that moment."""
        return self.known

    @property
    def snapshot(self) -> Visibility:
        """Return which transactions the rows contain."""
        return self.named.snapshot

    def chunks(self, selection: RowSelection, most: int) -> Sequence[RowSource]:
        """Return the chunks of the selected rows."""
        return self.named.chunks(selection, most)


@dataclass(frozen=True, slots=True)
class NumberedRange(LogRange):
    """A numbered range gives what it reads the ids of tables, and leaves out the rows of tables without one.

    read_in_order: what is read. numbering: at the range's beginning.
    """

    read_in_order: tuple[LogRange, ...]
    numbering: Numbering

    def read(self) -> Iterator[LogBatch]:
        """Yield the batches with the ids of tables."""
        now, names = self.numbering, self.numbering.names
        for one in self.read_in_order:
            for batch in one.read():
                ids = [names.get(TableName(layout.schema, layout.name)) for layout, _ in batch.rows]
                rows = [
                    (replace(layout, table_id=i), found)
                    for i, (layout, found) in zip(ids, batch.rows, strict=True)
                    if i is not None
                ]
                events = []
                for event in batch.events:
                    now, numbered = now.after(event)
                    events += numbered
                names = now.names if events else names
                yield replace(batch, rows=rows, events=events)
