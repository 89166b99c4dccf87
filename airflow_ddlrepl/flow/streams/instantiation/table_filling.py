"""A group of new tables is created and filled in one transaction at the target, together with their positions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.adapt.plan.plan import target_shape
from airflow_ddlrepl.adapt.shape.source_expressions import require_texts
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.engines.abilities.lcr_target import LcrTransaction, NewTables
from airflow_ddlrepl.engines.source_catalog import RowSelection, SourceSnapshot
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.flow.run.targets import server_alone
from airflow_ddlrepl.flow.streams.instantiation.instantiation_plan import Group, Way, stored, without_rows
from airflow_ddlrepl.flow.streams.instantiation.new_shapes import merged, with_computed
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.sql.expressions.allowed import user_functions
from airflow_ddlrepl.streams.queue.insert_route import Outcome, table_of
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch
from airflow_ddlrepl.streams.queue.row_messages import batch_of_texts
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts


@dataclass(frozen=True)
class Rows:
    """These are the rows of the source at a position; values: how the source's values are shown to conditions."""

    position: Position
    snapshot: SourceSnapshot
    values: ChangeValues

    @property
    def facts(self) -> TransactionFacts:
        """Return the transaction that the rows count as a part of: an untagged one at the position."""
        now = int(datetime.now(UTC).timestamp() * 1e6)
        lsn, transaction_id, committed = (np.array([number], np.int64) for number in (self.position, 0, now))
        return TransactionFacts(lsn, transaction_id, committed, pa.array([""], pa.string()))

    def batches(self, table: Table) -> Iterator[LcrBatch]:
        """Yield the rows of a table as inserts; some thousand of them are in memory at a time."""
        like, seq = without_rows(table), 0
        selection = RowSelection(table, tuple(column.name for column in stored(table)))
        for source in self.snapshot.chunks(selection, sys.maxsize):
            for texts in source.batches():
                yield LcrBatch(like.layout, _inserts(texts, self.position, seq))
                seq += texts.num_rows


def _inserts(texts: pa.RecordBatch, position: Position, seq: int) -> pa.Table:
    count = texts.num_rows
    head = {
        "lsn": pa.array(np.full(count, position, np.int64)),
        "seq": pa.array(np.arange(seq, seq + count, dtype=np.int64)),
        "op": pa.array(np.full(count, Op.INSERT, np.int8)),
        "before": pa.array(np.zeros(count, np.int8)),
        "absent": pa.nulls(count, pa.binary()),
    }
    values = {f"a_{name}": texts.column(name).cast(pa.string()) for name in texts.schema.names}
    return pa.table({**head, **values})


@dataclass
class Filled:
    """Filled tables are those of a group, by their names at the target.

    rows: of the tables that were created. existing: tables that were there already. queued: by the names that tables
    have in the queue, whether their rows were loaded. discarded: rows by table and client. warnings: of the server.
    """

    rows: Counter[TableName] = field(default_factory=Counter)
    existing: dict[TableName, None] = field(default_factory=dict)
    queued: dict[TableName, bool] = field(default_factory=dict)
    discarded: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)


class GroupFilling:
    """A group filling loads one group of ways in an open transaction."""

    def __init__(self, group: Group, rows: Rows, transaction: LcrTransaction) -> None:
        self._ways = [way.at(table) for way in group.ways for table in rows.snapshot.tables if table.id == way.table.id]
        self._rows = rows
        self._tables: NewTables = transaction.new_tables
        self._made: dict[TableName, Table] = {}
        self._origins = " and ".join(sorted({f"{way.table.name} ({way.route.name})" for way in self._ways}))
        self._filled = Filled()

    def run(self) -> Filled:
        """Create the tables, fill them, and give them their keys; return what was done.

        Raises ApplyError APL-130 to APL-137, RuleError (RUL-…) as the rules on the way do.
        """
        routes = {id(way.route): way.route for way in self._ways}.values()
        before = [route.discarded for route in routes]
        certain = [(way, one) for way in self._ways for one in way.outcomes if one.is_certain]
        self._create(certain)
        for way in self._ways:
            self._load(way)
        for name, shape in self._made.items():
            if warning := self._tables.finish(shape, self._origins):
                self._filled.warnings.append(f"{name}: {warning}")
        for way in self._ways:
            if any(self._filled.queued.get(name) for name in way.queued):
                for name in way.former_queued():
                    self._filled.queued.setdefault(name, True)
        for route, known in zip(routes, before, strict=True):
            self._filled.discarded += route.discarded - known
        return self._filled

    def _create(self, outcomes: Sequence[tuple[Way, Outcome]]) -> None:
        """Create the tables that outcomes lead to, partitioned ones first, and note those that are there already."""
        shapes: dict[TableName, list[tuple[Way, Outcome]]] = {}
        for way, one in outcomes:
            shapes.setdefault(table_of(one.batch), []).append((way, one))
        wanted = {name: self._shape(name, of) for name, of in shapes.items() if self._is_new(name)}
        for name in wanted:
            _require_loadable(name, shapes[name])
        for name in _parents_first({name: shape for name, shape in wanted.items() if shape is not None}):
            self._tables.create(found := self._at_target(name, wanted))
            self._made[name] = found
            self._filled.rows[name] += 0
        for _, one in outcomes:
            name = table_of(one.batch)
            if name in self._made or name in self._filled.existing:
                self._note(one.queued, name)

    def _is_new(self, name: TableName) -> bool:
        if name in self._made:
            return False
        if self._tables.facts.table(name) is None:
            return True
        self._filled.existing[name] = None
        return False

    def _note(self, queued: TableName, name: TableName) -> None:
        """Note whether rows of a table of the queue are loaded. Raises ApplyError APL-134 where only some are."""
        is_loaded = name in self._made
        if self._filled.queued.setdefault(queued, is_loaded) is not is_loaded:
            raise ApplyError(
                f"{queued} comes into several tables of the target, of which some are there already, and {name} is not"
                if is_loaded
                else f"{queued} comes into several tables of the target, of which {name} is there already",
                code="APL-134",
                table=name,
                hint="one position is for all of them: create and fill the others, too, or drop the one that is there",
            )

    def _shape(self, name: TableName, of: Sequence[tuple[Way, Outcome]]) -> Table | None:
        """Return the shape of a new table, with the source's identities; None for a partitioned one that is changed."""
        shapes = []
        for way, one in of:
            shape = with_computed(one.batch.shape, way.table)
            if not way.is_unchanged(one):
                if shape.is_partitioned:
                    return None
                shape = shape.with_(partition=None)
            shapes.append(shape)
        return merged(name, shapes)

    def _at_target(self, name: TableName, wanted: Mapping[TableName, Table | None]) -> Table:
        shape = wanted[name]
        assert shape is not None
        facts, parent = self._tables.facts, None
        if shape.partition is not None:
            parent = self._made.get(shape.partition.of_name) or facts.table(shape.partition.of_name)
        has_parent = parent is not None and parent.is_partitioned
        require_texts(shape, facts.version, facts.strange(user_functions(shape.partition_key)))
        return target_shape(shape, facts=TargetFacts(server_alone(facts), None, name, has_parent=has_parent))

    def _load(self, way: Way) -> None:
        uncertain = [one for one in way.outcomes if not one.is_certain]
        if not uncertain and all(table_of(one.batch) in self._filled.existing for one in way.outcomes):
            return
        facts, is_empty = self._rows.facts, True
        for batch in self._rows.batches(way.table) if not way.table.is_partitioned else ():
            for one in way.route.rows(batch, facts):
                is_empty = is_empty and not len(one.batch)
                self._fill(way, one, uncertain)
        if is_empty:  # nobody knows where its rows will go; most functions leave the table's name
            self._create([(way, one) for one in uncertain])
        for one in uncertain:
            self._filled.queued.setdefault(one.queued, True)

    def _fill(self, way: Way, one: Outcome, uncertain: Sequence[Outcome]) -> None:
        name = table_of(one.batch)
        if name not in self._made and name not in self._filled.existing:
            alike = [(way, other) for other in uncertain if table_of(other.batch) == name]
            self._create([*alike, (way, one)])
        self._note(one.queued, name)
        if name in self._filled.existing:
            return
        _require_inserts(way, one)
        texts = batch_of_texts(one.batch, self._rows.values)
        names = [column.name for column in one.batch.layout.columns if f"a_{column.name}" in texts.rows.column_names]
        rows = texts.rows.select([f"a_{column}" for column in names]).rename_columns(names)
        self._tables.fill(self._made[name], rows)
        self._filled.rows[name] += len(one.batch)


def _require_loadable(name: TableName, of: Sequence[tuple[Way, Outcome]]) -> None:
    for way, one in of:
        if one.source_function:
            raise ApplyError(
                f"function {one.source_function} of the source changes rows of {way.table.name} as triggers capture"
                f" them: nobody else can call it to load {name}",
                code="APL-137",
                table=name,
                hint="create and fill the target's table by hand; the changes follow",
            )


def _require_inserts(way: Way, one: Outcome) -> None:
    if not (one.batch.rows["op"].to_numpy() == Op.INSERT).all():
        raise ApplyError(
            f"a function on the way {way.route.name} makes an update or a delete of a row of {way.table.name}",
            code="APL-135",
            table=way.table.name,
            hint="a table that has rows can't be loaded through it: create and fill the target's table by hand, and"
            " give its position by set_table_instantiation_scn",
        )


def _parents_first(shapes: Mapping[TableName, Table]) -> list[TableName]:
    """Return the names of tables, each behind the one that it is a partition of."""

    def depth(shape: Table, seen: Collection[TableName] = ()) -> int:
        parent = shape.partition.of_name if shape.partition is not None else None
        if parent is None or parent not in shapes or parent in seen:
            return 0
        return 1 + depth(shapes[parent], (*seen, parent))

    return sorted(shapes, key=lambda name: depth(shapes[name]))
