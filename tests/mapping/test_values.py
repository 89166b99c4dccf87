"""Values that a function gives: which columns, what it gets, and what of its answers is taken."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from airflow_ddlrepl.errors import TargetError, Unsupported
from airflow_ddlrepl.mapping.values import (
    BATCH_ROWS,
    Transform,
    computed_columns,
    for_columns,
    function_of,
    transform_of,
    values,
)
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.table_settings import Values
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType

NAME = TableName("public", "t")
TEXT = DataType("text", "pg_catalog", "text")
NAMES = ("id", "mail", "phone", "Note")
COLUMNS = tuple(Column(number, name, TEXT) for number, name in enumerate(NAMES, 1))
TABLE = Table(1, NAME, (*COLUMNS, Column(5, "g", TEXT, generated="stored")), Key((1,), "t_pkey", True))
OF = Transform("rules_of_a_law:f", ("b",), ("a", "b"))


def said(*columns: str, reads: tuple[str, ...] = ("*",)) -> Values:
    return Values("rules:f", columns, reads)


@pytest.fixture
def function() -> Iterator[Callable[[Any], None]]:
    module = sys.modules["rules_of_a_law"] = ModuleType("rules_of_a_law")
    yield lambda of: setattr(module, "f", of)
    del sys.modules["rules_of_a_law"]


def test_which_columns_are_given_and_looked_at() -> None:
    """Patterns, by the source's names; what is computed is not looked at."""
    assert transform_of(said("m*", "note"), TABLE) == Transform("rules:f", ("mail", "Note"), NAMES)
    assert transform_of(said("phone", reads=("id",)), TABLE) == Transform("rules:f", ("phone",), ("id", "phone"))
    assert transform_of(said("nothing"), TABLE) is None and transform_of(None, TABLE) is None
    assert [column.id for column in computed_columns(said("*"), TABLE)] == [1, 2, 3, 4, 5]
    found = transform_of(said("m*|phone"), TABLE)
    assert pickle.loads(pickle.dumps(found)) == found
    assert for_columns(found, ["phone", "id"]) == Transform("rules:f", ("phone",), NAMES)
    assert for_columns(found, ["id"]) is None and for_columns(None, ["id"]) is None


@pytest.mark.parametrize(("column", "why"), [("i?", "part of the key"), ("g", "generated")])
def test_columns_that_no_function_can_give(column: str, why: str) -> None:
    with pytest.raises(Unsupported, match=f"which is {why}") as caught:
        transform_of(said(column), TABLE)
    assert (caught.value.code, caught.value.table) == ("ADP-155", "public.t")


@pytest.mark.parametrize("rows", [0, 1, BATCH_ROWS, BATCH_ROWS + 1, 3 * BATCH_ROWS])
def test_batches_have_an_end(function: Any, rows: int) -> None:
    sizes: list[int] = []

    def f(batch: pa.RecordBatch) -> pa.RecordBatch:
        assert batch.schema.names == ["a", "b"] and batch.schema.types == [pa.string(), pa.string()]
        sizes.append(batch.num_rows)
        return pa.RecordBatch.from_pydict({"b": batch.column("a"), "more": batch.column("b")})

    function(f)
    table = pa.table({"b": ["x"] * rows, "a": [str(number) for number in range(rows)], "c": [None] * rows})
    table = table.set_column(0, "b", pa.chunked_array([["x"] * rows], pa.string()))
    table = table.set_column(1, "a", table["a"].cast(pa.string()))
    found = values(OF, table, NAME)
    assert found["b"].to_pylist() == table["a"].to_pylist()
    assert max(sizes, default=0) <= BATCH_ROWS and sum(sizes) == rows


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.null()])
def test_strings_of_every_kind_are_taken(function: Any, type_: Any) -> None:
    function(lambda batch: pa.RecordBatch.from_arrays([pa.array([None], type_)], ["b"]))
    assert values(OF, pa.table({"a": ["1"], "b": ["2"]}), NAME)["b"].type == pa.string()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda batch: None, "returned NoneType, no RecordBatch"),
        (lambda batch: batch.slice(1), "returned 0 rows for 1"),
        (lambda batch: batch.select(["a"]), "returned no column b"),
        (lambda batch: pa.RecordBatch.from_pydict({"b": [b"x"]}), "of type binary, not string"),
        (lambda batch: pa.RecordBatch.from_pydict({"b": [7]}), "of type int64, not string"),
        (lambda batch: pa.RecordBatch.from_arrays([batch.column(0)] * 2, ["b", "b"]), "more than one column b"),
        (lambda batch: batch.column("c"), "raised KeyError"),
    ],
)
def test_answers_that_are_none(function: Any, answer: Any, told: str) -> None:
    function(answer)
    with pytest.raises(TargetError) as caught:
        values(OF, pa.table({"a": ["1"], "b": ["2"]}), NAME)
    assert (caught.value.code, caught.value.table) == ("INT-114", "public.t") and told in caught.value.message


@pytest.mark.parametrize("value", ["x", "+49 30 123", "in", "Secret words", "a.b@c.d"])
@pytest.mark.parametrize("text", ["can't read {}", "{}", "no '{}'!\nsecond", "it was {}, and long"])
def test_no_value_of_a_row_is_told(function: Any, value: str, text: str) -> None:
    def f(batch: pa.RecordBatch) -> pa.RecordBatch:
        raise ValueError(text.format(value))

    function(f)
    with pytest.raises(TargetError) as caught:
        values(OF, pa.table({"a": [value, None], "b": ["other", ""]}), NAME)
    told = re.sub(r"\d+", "1", caught.value.message)
    assert told == (
        "the function rules_of_a_law:f of `transform` raised ValueError (line 1 of f); its text is left out, because"
        " it may show a value"
    )
    assert caught.value.__cause__ is None


def test_what_a_function_says_else_is_told(function: Any) -> None:
    def f(batch: pa.RecordBatch) -> pa.RecordBatch:
        raise LookupError("no salt is set\nsecond line")

    function(f)
    with pytest.raises(TargetError, match=r"raised LookupError: no salt is set \(line \d+ of f\) ") as caught:
        values(OF, pa.table({"a": ["1"], "b": ["2"]}), NAME)
    assert "second" not in str(caught.value)


@pytest.mark.parametrize("name", ["nowhere_at_all:f", "json:nothing", "json:__name__"])
def test_functions_that_are_not_there(name: str) -> None:
    with pytest.raises(Unsupported) as caught:
        function_of(name, NAME)
    assert (caught.value.code, caught.value.table) == ("ADP-156", "public.t") and "PYTHONPATH" in caught.value.hint
