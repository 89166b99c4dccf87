"""How many changes a second rules of Oracle Streams are evaluated for, on one core, with few and many rules.

Every table of the data has five conditions over its values, whatever the number of rules: the others are for tables
that the data does not have.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.streams.calls.procedure import Procedure
from airflow_ddlrepl.streams.calls.rule_procedures import AddSchemaRules, AddTableRules
from airflow_ddlrepl.streams.calls.transformations import DeleteColumn, RenameSchema
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.procedures.run import run
from airflow_ddlrepl.streams.rules.batches import BatchEvaluator
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.transform import transformed_groups

TABLES, SCHEMAS, RESIDUAL = 2_000, 10, 5
NUMBERS = (50, 5_000, 50_000)
BATCHES = 2
_CONDITIONS = (
    ":lcr.get_value('NEW','\"AMOUNT\"').AccessNumber() > 9900",
    ":lcr.get_value('NEW','\"STATE\"').AccessVarchar2() = 'lost'",
    ":lcr.get_value('OLD','\"STATE\"').AccessVarchar2() IN ('held', 'lost')",
    ":lcr.get_value('NEW','\"CUSTOMER\"').AccessNumber() BETWEEN 10 AND 20",
    ":lcr.get_command_type() = 'DELETE' AND :lcr.get_value('OLD','\"AMOUNT\"').AccessNumber() < 100",
)


def calls(count: int) -> Iterator[Procedure]:
    """The calls that make so many rules: five for each schema, and one for each of many other tables."""
    for number in range(SCHEMAS * RESIDUAL):
        condition = _CONDITIONS[number % RESIDUAL]
        yield AddSchemaRules(
            schema_name=f"app{number // RESIDUAL}", streams_type="apply", streams_name="a", and_condition=condition
        )
    for number in range(count - SCHEMAS * RESIDUAL):
        name = f"app{number % SCHEMAS}.other_{number}"
        yield AddTableRules(table_name=name, streams_type="apply", streams_name="a")


def client(count: int) -> tuple[Client, float]:
    """A client with so many rules, and the seconds in which they are made."""
    started = time.process_time()
    environment = Environment()
    for call in calls(count):
        run(call, environment)
    (found,) = environment.clients.values()
    return found, time.process_time() - started


def batches(changes: int) -> list[RowBatch]:
    """Changes of all tables, in a few batches for each."""
    dice = np.random.default_rng(1)
    rows = max(1, changes // TABLES // BATCHES)
    found = []
    for number in range(TABLES):
        for _ in range(BATCHES):
            ops = dice.integers(0, 3, rows).astype(np.int8)
            states = pa.DictionaryArray.from_arrays(dice.integers(0, 4, rows), ["new", "held", "sent", "lost"]).cast(
                "string"
            )
            values = {
                "AMOUNT": dice.integers(0, 10_000, rows),
                "CUSTOMER": dice.integers(0, 1000, rows),
                "STATE": states,
            }
            columns = {f"{side}_{name}": column for name, column in values.items() for side in "ab"}
            table = pa.table({"op": ops, "before": np.where(ops == 1, 0, 2).astype(np.int8), **columns})
            found.append(RowBatch(f"APP{number % SCHEMAS}", f"T{number}", "DBS1", table))
    return found


def measure(changes: int) -> None:
    """Print changes a second with each number of rules, and with the taken rows picked out and transformed."""
    data = batches(changes)
    total = sum(len(one) for one in data)
    for count in NUMBERS:
        of, seconds = client(count)
        evaluator = BatchEvaluator(of)
        started = time.process_time()
        taken = sum(int(evaluator.evaluate(one).is_taken.sum()) for one in data)
        spent = time.process_time() - started
        rate = total / spent
        print(
            f"{count:,} rules: {rate:,.0f} changes/s, {taken:,} of {total:,} taken; made in {seconds:.1f} s", flush=True
        )
    for is_declared in (False, True):
        rate = transforming(data, is_declared)
        print(f"with the taken rows{' transformed' * is_declared}: {rate:,.0f} changes/s", flush=True)


def transforming(data: list[RowBatch], is_declared: bool) -> float:
    """Changes a second with the taken rows picked out, and with declared transformations done to them."""
    environment = Environment()
    for number, call in enumerate(calls(NUMBERS[0])):
        (rule,) = run(call, environment)
        if is_declared:
            schema = f"app{number // RESIDUAL}"
            run(RenameSchema(rule_name=rule.name, from_schema_name=schema, to_schema_name="dw"), environment)
            for table in range(number // RESIDUAL, 200, SCHEMAS):
                table_name = f"{schema}.t{table}"
                run(DeleteColumn(rule_name=rule.name, table_name=table_name, column_name="customer"), environment)
    (of,) = environment.clients.values()
    evaluator = BatchEvaluator(of)
    started = time.process_time()
    for one in data:
        transformed_groups(one, evaluator.evaluate(one))
    return sum(len(one) for one in data) / (time.process_time() - started)
