"""What a client's stage does to batches of rows: conditions on typed values, exact texts, functions, refusals."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_ddlrepl.engines import of_sources
from airflow_ddlrepl.errors import RuleError, TrailError
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Identity, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.ports.row_layout import ColumnLayout, Layout
from airflow_ddlrepl.streams.calls.section import StreamsParameters
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.queue.custom_functions import CustomFunctions
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch, absent_bitmap
from airflow_ddlrepl.streams.queue.row_messages import queued_rows
from airflow_ddlrepl.streams.queue.stage import ClientStage
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts
from airflow_ddlrepl.streams.rules.client import ClientKind
from airflow_ddlrepl.trail.transaction_columns import TRANSACTIONS

HERE = "tests.flow.streams.functions"
TYPES = {"id": "integer", "k": "numeric", "note": "text", "at": "timestamp without time zone"}
SHAPE = Table(7, TableName("hr", "t"), tuple(Column(i, n, column_type(t)) for i, (n, t) in enumerate(TYPES.items(), 1)))
FACTS = TransactionFacts.of(
    pa.table({"lsn": [10], "xid": [3], "committed": [5], "origin": [""], "changes": [9]}).cast(TRANSACTIONS)
)
RULE = {
    "table_name": "hr.t",
    "streams_type": "capture",
    "streams_name": "cap",
    "dml_rule_name": "r",
    "ddl_rule_name": "d",
}


def batch(*rows: dict[str, Any], identity: Identity = Identity.FULL) -> LcrBatch:
    """Rows of hr.t: op, the values after the change, and under `old` those before it."""
    is_full = identity is Identity.FULL
    columns = (ColumnLayout(n, column_type(t).id, -1, n == "id" or is_full, "text") for n, t in TYPES.items())
    layout = Layout(7, "hr", "t", identity, tuple(columns), SHAPE)
    data: dict[str, Any] = {
        "lsn": pa.array([10] * len(rows), pa.int64()),
        "seq": pa.array(range(len(rows)), pa.int64()),
        "op": pa.array([Op[row.get("op", "INSERT")] for row in rows], pa.int8()),
        "before": pa.array([row.get("before", 2 if row.get("old") else 0) for row in rows], pa.int8()),
        "absent": pa.nulls(len(rows), pa.binary()),
    }
    for side in "ab":
        for name in TYPES:
            image = [row.get("old", {}) if side == "b" else row for row in rows]
            data[f"{side}_{name}"] = pa.array([one.get(name) for one in image], pa.string())
    return LcrBatch(layout, pa.table(data))


def stage(*calls: dict[str, Any], **functions: str) -> ClientStage:
    return stage_of(ClientKind.CAPTURE, *calls, **functions)


def stage_of(kind: ClientKind, *calls: dict[str, Any], **functions: str) -> ClientStage:
    parameters = StreamsParameters.model_validate({"calls": list(calls)})
    environment = environment_of(parameters, NameCase.LOWER)
    (client,) = [client for (of, _), client in environment.clients.items() if of is kind]
    listed = {f"hr.{name}": f"{HERE}:{place}" for name, place in functions.items()}
    return ClientStage(client, "dbs1", of_sources("postgresql://").values, CustomFunctions(listed, 0.5))


def function(name: str) -> list[dict[str, Any]]:
    pair = {"rule_name": "r", "transform_function": f"hr.{name}"}
    return [{"add_table_rules": RULE}, {"set_rule_transform_function": pair}]


def test_numbers_in_text_are_compared_as_numbers_and_stay_as_they_were() -> None:
    rows = batch({"id": "1", "k": "9.50"}, {"id": "2", "k": "10.00"}, {"id": "3"})
    condition = """:lcr.get_value('NEW','"k"').AccessNumber() > 9.6"""
    found = stage({"add_table_rules": {**RULE, "and_condition": condition}}).rows(rows, FACTS)
    assert [one.rows["a_k"].to_pylist() for one in found] == [["10.00"]]


@pytest.mark.parametrize(
    ("places", "code"),
    [({}, "RUL-134"), ({"missing": "no_such_function"}, "RUL-135"), ({"missing": "NO_FUNCTION"}, "RUL-135")],
)
@pytest.mark.req("ST-X-38")
def test_a_function_that_is_not_listed_is_refused_before_any_message(places: dict[str, str], code: str) -> None:
    with pytest.raises(RuleError) as error:
        stage(*function("missing"), **places)
    assert error.value.code == code


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("raises", "RUL-137", "not today"),
        ("hangs", "RUL-137", "longer than 0.5 s"),
        ("batch_raises", "RUL-137", "not today"),
        ("batch_hangs", "RUL-137", "longer than 0.5 s"),
        ("garbage", "RUL-136", "int"),
        ("retagged", "RUL-136", "another tag"),
        ("an_object", "RUL-136", "no value of a column"),
    ],
)
def test_what_a_function_does_wrong_is_an_error_and_nothing_is_taken(name: str, code: str, text: str) -> None:
    with pytest.raises(RuleError, match=text) as error:
        stage(*function(name), **{name: name}).rows(batch({"id": "1", "k": "2"}), FACTS)
    assert error.value.code == code


def test_a_function_changes_values_and_others_keep_their_exact_text() -> None:
    row = {"id": "1", "k": "2.50", "at": "2024-01-31 10:00:00.5"}
    (found,) = stage(*function("double"), double="double").rows(batch(row), FACTS)
    assert found.rows.select(["a_id", "a_k", "a_at"]).to_pylist() == [
        {"a_id": "1", "a_k": "5.00", "a_at": "2024-01-31 10:00:00.5"}
    ]


SUBSET = {"table_name": "hr.t", "streams_type": "capture", "streams_name": "cap"}


def test_a_subset_needs_the_old_values() -> None:
    rows = batch({"op": "UPDATE", "id": "1", "k": "1", "before": 0}, identity=Identity.DEFAULT)
    with pytest.raises(RuleError, match="REPLICA IDENTITY FULL") as error:
        stage({"add_subset_rules": {**SUBSET, "dml_condition": "k = 1"}}).rows(rows, FACTS)
    assert error.value.code == "RUL-132"


def test_a_row_that_comes_into_a_subset_needs_all_its_values() -> None:
    one = {"op": "UPDATE", "id": "1", "k": "1", "before": 1, "old": {"id": "2"}}
    rows = batch(one, identity=Identity.DEFAULT)
    bitmap = absent_bitmap({"note": np.array([True])}, [*TYPES], 1)
    rows = replace(rows, rows=rows.rows.set_column(4, "absent", bitmap))
    with pytest.raises(RuleError, match="note") as error:
        stage({"add_subset_rules": {**SUBSET, "dml_condition": "id = 1"}}).rows(rows, FACTS)
    assert error.value.code == "RUL-133"


def test_rows_without_a_known_shape_or_transaction_are_refused() -> None:
    rows = batch({"id": "1"})
    unknown = replace(rows, layout=replace(rows.layout, shape=None))
    with pytest.raises(RuleError) as error:
        stage({"add_table_rules": RULE}).rows(unknown, FACTS)
    assert error.value.code == "RUL-130"
    with pytest.raises(TrailError) as lost:
        stage({"add_table_rules": RULE}).rows(replace(rows, rows=rows.rows.set_column(0, "lsn", pa.array([11]))), FACTS)
    assert lost.value.code == "TRL-127"


def test_a_value_that_no_python_value_holds_is_compared() -> None:
    condition = """:lcr.get_value('NEW','"at"').AccessDate() > TO_DATE('2024-01-31','YYYY-MM-DD')"""
    rows = batch(*({"id": str(number), "at": at} for number, at in enumerate(MOMENTS)))
    (left,) = stage({"add_table_rules": {**RULE, "and_condition": condition}}).rows(rows, FACTS)
    assert left.rows["a_at"].to_pylist() == ["infinity", "50000-01-01 00:00:00", "2024-02-01 00:00:00"]


MOMENTS = (
    "infinity",
    "-infinity",
    "4713-01-01 00:00:00 BC",
    "50000-01-01 00:00:00",
    "2024-02-01 00:00:00",
    "2024-01-31 00:00:00",
)


def test_a_value_whose_text_is_not_known_is_refused() -> None:
    rows = batch({"id": "1"})
    box = replace(
        SHAPE,
        columns=(
            *SHAPE.columns[:2],
            Column(3, "note", DataType("public.path_of", "public", "path_of", id=70_000)),
            SHAPE.columns[3],
        ),
    )
    columns = tuple(replace(one, encoding="binary" if one.name == "note" else "text") for one in rows.layout.columns)
    at = rows.rows.column_names.index("a_note")
    rows = LcrBatch(
        replace(rows.layout, shape=box, columns=columns),
        rows.rows.set_column(at, "a_note", pa.array([b"\0" * 32], pa.binary())),
    )
    condition = """:lcr.get_value('NEW','"note"').AccessVarchar2() = 'a'"""
    with pytest.raises(RuleError, match="note") as error:
        stage({"add_table_rules": {**RULE, "and_condition": condition}}).rows(rows, FACTS)
    assert error.value.code == "RUL-131"


def test_rows_one_by_one_have_exact_texts_and_typed_values() -> None:
    (one,) = queued_rows(batch({"id": "1", "k": "2.50"}), FACTS, "dbs1", of_sources("postgresql://").values)
    assert (one.texts.new["k"], str(one.typed.new["k"]), one.typed.new["id"]) == ("2.50", "2.50", 1)


def test_a_value_that_no_python_value_holds_is_a_text_for_functions() -> None:
    rows = batch({"id": "1", "k": "NaN", "at": "infinity"}, {"id": "2", "k": "1.5", "at": "2024-01-31 10:00:00"})
    first, second = queued_rows(rows, FACTS, "dbs1", of_sources("postgresql://").values)
    assert (first.typed.new["at"], str(first.typed.new["k"])) == ("infinity", "NaN")
    assert isinstance(first.typed.new["at"], str)
    assert second.typed.new["at"] == datetime(2024, 1, 31, 10)
