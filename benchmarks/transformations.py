"""What a client of Oracle Streams costs on one core: evaluating, transforming, calling functions, passing a queue on.

Each number is a ratio of two measurements of the same rows in turns, by CPU time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines import of_sources
from airflow_ddlrepl.flow.streams.propagation import EVERYTHING, PartTask, pass_on_part
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Column, Identity, Key, Table
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.ports.row_layout import ColumnLayout, Layout
from airflow_ddlrepl.streams.calls.section import StreamsParameters
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import MessageClass, RowLcr
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.queue.custom_functions import CustomFunctions
from airflow_ddlrepl.streams.queue.functions import takes_batches
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch
from airflow_ddlrepl.streams.queue.ruled_writer import ClientRules
from airflow_ddlrepl.streams.queue.stage import ClientStage
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts
from airflow_ddlrepl.trail.manifest import Segment
from airflow_ddlrepl.trail.store import Trail
from airflow_ddlrepl.trail.transaction_columns import TRANSACTIONS
from airflow_ddlrepl.trail.writer import PartWriter

TABLES, BATCH, IN_TRANSACTION, TURNS = 8, 20_000, 100, 7
FUNCTION_ROWS = 20_000
COLUMNS = {
    "id": ("bigint", "native"), "customer": ("integer", "native"), "amount": ("numeric", "text"),
    "state": ("text", "text"), "note": ("text", "text"), "at": ("timestamp without time zone", "text"),
}  # fmt: skip
CONDITION = """:lcr.get_value('NEW','"customer"').AccessNumber() > 10"""
QUEUES = {"streams_name": "p", "source_queue_name": "q1", "destination_queue_name": "q2"}


def by_row(lcr: RowLcr) -> RowLcr:
    """Return a row with its state in capitals."""
    return replace(lcr, new={**lcr.new, "state": str(lcr.new["state"]).upper()})


@takes_batches
def by_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with their states in capitals."""
    at = batch.schema.get_field_index("a_state")
    return batch.set_column(at, "a_state", pc.utf8_upper(batch["a_state"]))


def batches(rows: int) -> Iterator[LcrBatch]:
    """Yield inserts and updates of a few tables, with numbers, texts and moments, as the log gives them."""
    dice = np.random.default_rng(1)
    for start in range(0, rows, BATCH):
        number = start // BATCH % TABLES
        columns = tuple(Column(i, name, column_type(kind)) for i, (name, (kind, _)) in enumerate(COLUMNS.items(), 1))
        shape = Table(number + 1, TableName("hr", f"t{number}"), columns, Key((1,), "k", True))
        layouts = tuple(ColumnLayout(c.name, c.type.id, -1, c.name == "id", COLUMNS[c.name][1]) for c in shape.columns)
        layout = Layout(shape.id, "hr", shape.name.name, Identity.DEFAULT, layouts, shape)
        cents = dice.integers(0, 10**7, BATCH)
        ids = np.arange(start, start + BATCH)
        yield LcrBatch(
            layout,
            pa.table(
                {
                    "lsn": pa.array(ids // IN_TRANSACTION + 1, pa.int64()),
                    "seq": pa.array(ids % IN_TRANSACTION, pa.int64()),
                    "op": pa.array(dice.choice([Op.INSERT, Op.UPDATE], BATCH), pa.int8()),
                    "before": pa.array(np.zeros(BATCH), pa.int8()),
                    "absent": pa.nulls(BATCH, pa.binary()),
                    "a_id": pa.array(ids, pa.int64()),
                    "a_customer": pa.array(dice.integers(0, 100_000, BATCH), pa.int32()),
                    "a_amount": pa.array([f"{one // 100}.{one % 100:02}" for one in cents.tolist()]),
                    "a_state": pa.array(np.array(["new", "held", "sent", "lost"])[dice.integers(0, 4, BATCH)]),
                    "a_note": pa.array([f"a note about order {one}" for one in ids.tolist()]),
                    "a_at": pa.array([f"2024-01-31 10:{one % 60:02}:00.5" for one in ids.tolist()]),
                }
            ),
        )


def facts(rows: int) -> pa.Table:
    """Return the transactions of these rows."""
    count = rows // IN_TRANSACTION + 1
    data: dict[str, object] = {"lsn": np.arange(1, count + 1), "xid": np.arange(count), "committed": np.arange(count)}
    data |= {"origin": [""] * count, "changes": np.full(count, IN_TRANSACTION)}
    return pa.table(data).cast(TRANSACTIONS)


def rules(*, is_declared: bool = False, function: str = "") -> ClientRules:
    """Return a propagation with a condition over a value for each table, and transformations."""
    calls: list[dict[str, object]] = []
    for number in range(TABLES):
        of, name = f"hr.t{number}", f"r{number}"
        call = {"table_name": of, "dml_rule_name": name, "and_condition": CONDITION, **QUEUES}
        calls.append({"add_table_propagation_rules": call})
        if function:
            calls.append({"set_rule_transform_function": {"rule_name": name, "transform_function": function}})
        if is_declared:
            about = {"rule_name": name, "table_name": of}
            calls += [
                {"delete_column": {**about, "column_name": "note"}},
                {"rename_column": {**about, "from_column_name": "state", "to_column_name": "status"}},
                {"add_column": {**about, "column_name": "origin", "column_value": "dbs1"}},
                {"rename_schema": {"rule_name": name, "from_schema_name": "hr", "to_schema_name": "dw"}},
            ]
    environment = environment_of(StreamsParameters.model_validate({"calls": calls}), NameCase.LOWER)
    (client,) = environment.clients.values()
    places = {name: f"benchmarks.transformations:{name}" for name in ("by_row", "by_batch")}
    return ClientRules(client, "dbs1", CustomFunctions(places))


def measure(rows: int) -> None:
    """Print the ratios."""
    data, known = list(batches(rows)), TransactionFacts.of(facts(rows))
    plain, declared = (_staging(rules(is_declared=flag), data, known) for flag in (False, True))
    show("declared transformations on top of evaluation", rows, *in_turns(declared, plain))
    few = data[: max(1, FUNCTION_ROWS // BATCH)]
    one, many = (_staging(rules(function=name), few, known) for name in ("by_row", "by_batch"))
    show("calls for each row against calls for batches", len(few) * BATCH, *in_turns(one, many))
    quick = _staging(rules(is_declared=True), few, known)
    show("a function of one step against four declared ones", len(few) * BATCH, *in_turns(one, quick))
    with tempfile.TemporaryDirectory(prefix="ddlrepl-bench-") as folder:
        source = Trail(f"file://{folder}", "source")
        written(source, data, facts(rows))
        for name, of in (("", rules()), (" with declared transformations", rules(is_declared=True))):
            passing, copying = (_passing(folder, source, of), _copying(folder, source))
            show(f"a copy against a propagation{name}", rows, *in_turns(copying, passing))


def show(what: str, rows: int, first: float, second: float) -> None:
    print(f"{what}: {first / second:.2f} ({rows / first:,.0f} and {rows / second:,.0f} changes/s)", flush=True)


def in_turns(first: Callable[[], None], second: Callable[[], None]) -> tuple[float, float]:
    """Return the median CPU seconds of both, measured in turns."""
    found: list[tuple[float, float]] = []
    for _ in range(TURNS):
        found.append((_seconds(first), _seconds(second)))
    ones, others = zip(*found[1:], strict=True)
    return median(ones), median(others)


def _seconds(work: Callable[[], None]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _staging(of: ClientRules, data: list[LcrBatch], known: TransactionFacts) -> Callable[[], None]:
    stage = ClientStage(of.client, of.database, of_sources("postgresql://").values, of.functions)

    def work() -> None:
        for one in data:
            stage.rows(one, known)

    return work


def written(trail: Trail, data: list[LcrBatch], transactions: pa.Table) -> None:
    """Write rows as a segment of a trail."""
    writer = PartWriter(trail, 1, Position(1), 0)
    for one in data:
        for piece in one.rows.to_batches():
            writer.rows(one.layout, piece)
    for piece in transactions.to_batches():
        writer.transactions(piece)
    part = writer.finish(Position(1), Position(1 << 40), 0)
    trail.publish(Segment(trail.channel, 1, 0, Position(1), Position(1 << 40), (part,)), lambda: None)


def _passing(folder: str, source: Trail, of: ClientRules) -> Callable[[], None]:
    places = ((source.url, source.channel), (f"file://{folder}", "passed"))
    task = PartTask(
        *places, 1, Position(1), source.segment(1, Position(1)).digest, 0, 0, of, "postgresql", MessageClass.CAPTURED
    )

    def work() -> None:
        pass_on_part(task)

    return work


def _copying(folder: str, source: Trail) -> Callable[[], None]:
    """Return what reads every file and writes its rows again, as the trail writes them."""

    def work() -> None:
        (part,) = source.segment(1, Position(1)).parts
        writer = PartWriter(Trail(f"file://{folder}", "copied"), 1, Position(1), 0)
        for file in part.files:
            layout = Layout(file.table_id, file.schema, file.name, file.identity, file.columns, file.shape)
            for rows in source.batches(file, *EVERYTHING):
                for piece in (
                    pa.Table.from_batches([rows]).to_batches()
                    if isinstance(rows, pa.RecordBatch)
                    else rows.to_batches()
                ):
                    writer.rows(layout, piece)
        for piece in source.transactions_in([part.transactions] if part.transactions else []).to_batches():
            writer.transactions(piece)
        writer.finish(Position(1), Position(1 << 40), 0)

    return work
