"""This module writes what a client takes of a log, or of another queue, into a feed of a queue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pyarrow as pa

from airflow_ddlrepl.model.change import Event, EventKind, why_ignored
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.ports.row_layout import Layout
from airflow_ddlrepl.streams.messages import MessageClass
from airflow_ddlrepl.streams.queue.custom_functions import CustomFunctions
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch
from airflow_ddlrepl.streams.queue.stage import ClientStage
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.trail.manifest import Part
from airflow_ddlrepl.trail.writer import PartWriter

CARRIED = (EventKind.DDL, EventKind.TRUNCATE, EventKind.MESSAGE)
"""The control records that are messages of a queue; the others are about the log that was captured."""


@dataclass(frozen=True)
class ClientRules:
    """A client's rules are what a task needs to do its work: the client, the source's name, functions, known shapes.

    user: that the client works as.
    """

    client: Client
    database: str
    functions: CustomFunctions = field(default_factory=CustomFunctions)
    tables: tuple[Table, ...] = ()
    user: str = ""

    def stage(self, values: ChangeValues) -> ClientStage:
        """Return the client's stage. values: of the source's engine. Raises RuleError (RUL-134, RUL-135)."""
        return ClientStage(self.client, self.database, values, self.functions.of_client(self.client, self.user))


class RuledWriter:
    """A ruled writer writes a part of a feed: those rows and control records that a client takes, as it leaves them.

    What it discards is counted by a control record of kind IGNORED for each table.
    """

    def __init__(self, writer: PartWriter, rules: ClientRules, values: ChangeValues) -> None:
        self._writer = writer
        self._stage = rules.stage(values)
        self._shapes: dict[int, list[Table]] = {}
        self._discarded: dict[tuple[int, TableName], tuple[int, LogKey, int, int]] = {}
        self.learn(rules.tables)

    @property
    def migrated(self) -> int:
        """Return how many updates have become inserts or deletes, by subset rules."""
        return self._stage.migrated

    def read_as(self, user: str) -> None:
        """Note the user of the connection that the log is read over."""
        self._stage.steps.setdefault("read", user)

    def learn(self, tables: Iterable[Table]) -> None:
        """Note shapes of tables that rows may have from here on."""
        for table in tables:
            self._shapes.setdefault(table.id, []).append(table)

    def rows(
        self,
        layout: Layout,
        batch: pa.RecordBatch | pa.Table,
        facts: TransactionFacts,
        message_class: MessageClass = MessageClass.CAPTURED,
    ) -> None:
        """Add rows of a table, those that the client takes. Raises RuleError (RUL-…) as `ClientStage.rows` does."""
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        if layout.shape is None:
            layout = replace(layout, shape=self._shape(layout))
        left = self._stage.rows(LcrBatch(layout, table), facts, message_class)
        taken = self._stage.taken
        if taken < table.num_rows:
            self._count(layout, table, table.num_rows - taken, facts)
        for one in left:
            self._stage.note("enqueue")
            for piece in one.rows.combine_chunks().to_batches():
                self._writer.rows(one.layout, piece)

    def event(self, event: Event) -> None:
        """Add a control record as the client leaves it. Raises RuleError (RUL-…) as `ClientStage.events` does."""
        for one in self._stage.events(event):
            if one.kind in CARRIED and not why_ignored(one):
                self._stage.note("enqueue")
            self._writer.event(one)

    def transactions(self, batch: pa.RecordBatch) -> None:
        """Add transactions in commit order."""
        self._writer.transactions(batch)

    def finish(self, low: Position, high: Position, bytes_read: int) -> Part:
        """Write what was discarded, close every file and return the part."""
        name = f"no rule of {self._stage.client.words} takes them"
        for (table_id, table), (rows, key, transaction_id, committed) in self._discarded.items():
            self._writer.event(
                Event(
                    EventKind.IGNORED,
                    key,
                    transaction_id,
                    committed,
                    statement=f"{rows} changes",
                    dropped=((table_id, table),),
                    discarded=name,
                )
            )
        part = self._writer.finish(low, high, bytes_read)
        return replace(part, functions=self._stage.functions.counts.to_json(), steps=dict(self._stage.steps))

    def discard(self) -> None:
        """Delete what was written so far, because the part failed."""
        self._writer.discard()

    def _shape(self, layout: Layout) -> Table | None:
        """Return the newest known shape that has the columns of a layout."""
        wanted = {(one.name, one.type_id) for one in layout.columns}
        for table in reversed(self._shapes.get(layout.table_id, [])):
            if wanted <= {(column.name, column.type.id) for column in table.columns}:
                return table
        return None

    def _count(self, layout: Layout, rows: pa.Table, discarded: int, facts: TransactionFacts) -> None:
        key = (layout.table_id, TableName(layout.schema, layout.name))
        before = self._discarded[key][0] if key in self._discarded else 0
        last = LogKey(rows["lsn"][-1].as_py(), rows["seq"][-1].as_py() * self._stage.scale)
        at = int(facts.places(rows["lsn"].slice(rows.num_rows - 1).to_numpy())[0])
        self._discarded[key] = (before + discarded, last, int(facts.transaction_id[at]), int(facts.committed[at]))
