"""Batches of rows are transformed as their row LCRs are."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
from airflow_ddlrepl.streams.messages import RowLcr
from airflow_ddlrepl.streams.rules.batches import BatchEvaluator
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.decide import decide
from airflow_ddlrepl.streams.rules.transform import transform, transformed_groups
from tests.streams.making import client, made

TABLE = "hr.t"
SUBSET = {
    "add_subset_rules": {
        "table_name": TABLE, "dml_condition": "k = 1", "streams_type": "apply", "streams_name": "c",
        "insert_rule_name": "i", "update_rule_name": "u", "delete_rule_name": "d",
    }
}  # fmt: skip
PLAIN = {"add_table_rules": {"table_name": TABLE, "streams_type": "apply", "streams_name": "c", "dml_rule_name": "i"}}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("delete_column", {"table_name": TABLE, "column_name": "a"}),
    ("delete_column", {"table_name": TABLE, "column_name": "a", "value_type": "NEW"}),
    ("keep_columns", {"table_name": TABLE, "column_list": ["k", "b", "zip"]}),
    ("keep_columns", {"table_name": TABLE, "column_list": ["k", "a"], "value_type": "OLD"}),
    ("rename_column", {"table_name": TABLE, "from_column_name": "b", "to_column_name": "c"}),
    ("rename_column", {"table_name": TABLE, "from_column_name": "zip", "to_column_name": "k"}),
    ("add_column", {"table_name": TABLE, "column_name": "d", "column_value": 5}),
    ("add_column", {"table_name": TABLE, "column_name": "e", "column_value": "x", "value_type": "*"}),
    ("rename_table", {"from_table_name": TABLE, "to_table_name": "oe.u"}),
    ("rename_schema", {"from_schema_name": "hr", "to_schema_name": "sales"}),
    ("rename_schema", {"from_schema_name": "oe", "to_schema_name": "other"}),
]


def batch(dice: random.Random, rows: int = 30) -> RowBatch:
    ops = np.array([dice.choice([0, 1, 2]) for _ in range(rows)], np.int8)
    data: dict[str, Any] = {"op": ops, "before": np.where(ops == 1, 0, 2).astype(np.int8), "lsn": np.arange(rows)}
    for name in "KAB":
        for side in "ab":
            data[f"{side}_{name}"] = pa.array([dice.choice([1, 2, None]) for _ in range(rows)], pa.int64())
    absent = np.array([op == 2 and dice.random() < 0.5 for op in ops])
    return RowBatch("HR", "T", "DBS1", pa.table(data), {"A": absent} if absent.any() else {}, frozenset("K"))


def changes(found: list[RowBatch]) -> dict[int, RowLcr]:
    """The LCRs of batches, by position."""
    return {int(one.rows["lsn"][at].as_py()): one.message(at) for one in found for at in range(len(one))}


def by_rows(of: Client, rows: RowBatch) -> dict[int, RowLcr]:
    verdicts = {at: (rows.message(at), decide(of, rows.message(at))) for at in range(len(rows))}
    return {at: transform(lcr, verdict) for at, (lcr, verdict) in verdicts.items() if verdict.is_taken}


@pytest.mark.req("ST-X-10")
@pytest.mark.parametrize("seed", range(15))
def test_a_batch_is_transformed_as_its_rows_are(seed: int) -> None:
    dice = random.Random(seed)
    chosen = dice.sample(CALLS, dice.randint(0, 4))
    names = ["i", "u", "d"] if dice.random() < 0.5 else ["i"]
    base = SUBSET if len(names) == 3 else PLAIN
    calls = [{name: {"rule_name": dice.choice(names), **given}} for name, given in chosen]
    of = client(made(base, *calls), "apply", "c")
    rows = batch(dice)
    try:
        wanted = by_rows(of, rows)
    except RuleError:
        with pytest.raises(RuleError):
            transformed_groups(rows, BatchEvaluator(of).evaluate(rows))
        return
    found = [left for _, left in transformed_groups(rows, BatchEvaluator(of).evaluate(rows))]
    assert changes(found) == wanted
    for one in found:
        assert one.rows["lsn"].to_pylist() == sorted(one.rows["lsn"].to_pylist())


def test_a_column_that_would_be_there_twice() -> None:
    for name, given in (
        ("add_column", {"column_name": "a", "column_value": 1}),
        ("rename_column", {"from_column_name": "a", "to_column_name": "b"}),
    ):
        of = client(made(PLAIN, {name: {"rule_name": "i", "table_name": TABLE, **given}}), "apply", "c")
        rows = batch(random.Random(1))
        with pytest.raises(RuleError, match=rf"{name}: rows of HR\.T have a column") as found:
            transformed_groups(rows, BatchEvaluator(of).evaluate(rows))
        assert found.value.code == "RUL-122"


def test_old_rows_that_lack_columns() -> None:
    call = {"rule_name": "i", "table_name": TABLE, "column_name": "d", "column_value": 1, "value_type": "*"}
    of = client(made(PLAIN, {"add_column": call}), "apply", "c")
    data = {"op": pa.array([2], pa.int8()), "before": pa.array([1], pa.int8()), "a_K": [1], "b_K": [1]}
    rows = RowBatch("HR", "T", "DBS1", pa.table(data), key_columns=frozenset("K"))
    with pytest.raises(RuleError, match=r"old rows of HR\.T lack columns") as found:
        transformed_groups(rows, BatchEvaluator(of).evaluate(rows))
    assert found.value.code == "RUL-127"
