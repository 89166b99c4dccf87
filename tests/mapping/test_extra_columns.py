"""Columns that only a target has: their types, and what can't be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_ddlrepl.engines.abilities.of_target import HasOwnColumns
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.flow.mapping.abilities import require_able
from airflow_ddlrepl.mapping.extra_columns import builtin_type, value_of, with_extra_columns, with_own_key
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.table_settings import CoerceErrorPolicy, OwnColumns
from airflow_ddlrepl.model.table import Column, Key, Partition, Table
from airflow_ddlrepl.model.target_columns import deletion_columns
from airflow_ddlrepl.notation.condition.parser import expression, spelled
from tests.config.test_restrict import channel

INT, TEXT = builtin_type("integer"), builtin_type("text")
T = Table(
    7,
    TableName("public", "t"),
    (Column(1, "id", INT, False), Column(2, "a", INT, False), Column(4, "note", TEXT, False)),
    Key((1,), "t_pkey", True),
)
TREE = T.with_(partition_key="RANGE (a)")
HISTORY = {"o": "{operation}", "p": "{position}", "n": "{sequence}"}


def extra(**expressions: str) -> OwnColumns:
    return OwnColumns(extra={name: spelled(expression(text)) for name, text in expressions.items()})


def test_the_type_follows_from_the_expression() -> None:
    texts = {"a": "a2", "a + 1": "n", "- 1": "m", "a > 1": "b", "'x'": "t", "a::text": "c", "{commit_time}": "w"}
    texts |= {"{operation}": "o", "{position}::numeric": "p"}
    found = with_extra_columns(T, T, extra(**{name: text for text, name in texts.items()}))
    types = {column.name: column.type.text for column in found.columns[3:]}
    assert types == {
        "a2": "integer", "n": "numeric", "m": "numeric", "b": "boolean", "t": "text", "c": "text",
        "w": "timestamp with time zone", "o": "text", "p": "numeric",
    }  # fmt: skip
    by_name = {column.name: column for column in found.columns}
    assert (by_name["n"].generated, by_name["n"].default, value_of(by_name["n"])) == ("stored", '("a" + 1)', "")
    assert (by_name["p"].generated, value_of(by_name["p"])) == ("", "position")


def test_an_expression_names_the_sources_columns_whatever_the_target_calls_them() -> None:
    there = T.with_(columns=tuple(replace(c, name=f'{c.name} "x"') for c in T.columns))
    (found,) = with_extra_columns(there, T, extra(n="a = 1 AND note = 'it''s'")).columns[3:]
    assert found.default == '(("a ""x""" = 1) AND ("note ""x""" = \'it\'\'s\'))'


def test_a_column_stays_the_same_one_whatever_else_the_file_says() -> None:
    entries = (extra(n="a + 1", at="{commit_time}"), extra(at="{commit_time}", n="a + 2"), extra(n="{position}"))
    one, other, third = ({c.name: c.id for c in with_extra_columns(T, T, entry).columns} for entry in entries)
    assert one == other and one["n"] != third["n"]
    names = ("gone", "is_gone")
    assert len({with_extra_columns(T, T, OwnColumns(soft_delete=name)).columns[3].id for name in names}) == 1


def test_rows_that_stay_need_not_fulfil_what_others_must() -> None:
    found = with_extra_columns(T, T, OwnColumns(soft_delete="gone", deleted_at="at"))
    assert [(c.name, c.nullable) for c in found.columns[:4]] == [
        ("id", False), ("a", True), ("note", True), *[(found.columns[3].name, found.columns[3].nullable)],
    ]  # fmt: skip
    assert deletion_columns(found) == ("gone", "at") and deletion_columns(T) is None


@pytest.mark.parametrize(
    ("table", "entry", "told"),
    [
        (TREE, OwnColumns(time_key=True, extra=HISTORY), "ADP-160: .* a row for a TRUNCATE"),
        (TREE, OwnColumns(key=("id",)), "ADP-160: .* unique over all partitions"),
        (TREE, OwnColumns(types={"a": "bigint"}), "ADP-173: .* the bounds of partitions"),
        (T.with_(partition=Partition(1, T.name, "DEFAULT")), OwnColumns(misfits=CoerceErrorPolicy.DISCARD), "ADP-160"),
        (T, extra(note="1"), "ADP-161: .* column note"),
        (T, extra(n="b + 1"), "ADP-162: .* no column b"),
        (T.with_(columns=(*T.columns, Column(5, "g", INT, generated="stored", default="1"))), extra(n="g"), "ADP-162"),
        (T.without_keys(), OwnColumns(soft_delete="gone"), "ADP-163"),
        (T.without_keys(), extra(n="{position}"), "ADP-163"),
    ],
)
def test_what_can_not_be_is_refused(table: Table, entry: Any, told: str) -> None:
    with pytest.raises(Unsupported, match=told):
        with_extra_columns(table, table, entry)


def test_an_expression_may_wait_for_its_column_where_the_log_brings_it() -> None:
    assert with_extra_columns(T, T, extra(n="b + 1", m="1"), lenient=True).columns[3].name == "m"


def test_a_target_of_a_kind_that_has_no_such_tables_refuses() -> None:
    found = channel(target_tables=[{"tables": "t", "targets": "berlin", "soft_delete": "gone"}])
    plain, able = object(), HasOwnColumns()
    require_able(found.at("berlin"), [T], able)
    require_able(found.at("paris"), [T], plain)
    with pytest.raises(Unsupported, match="ADP-164: target berlin"):
        require_able(found.at("berlin"), [T], plain)


def test_another_key_has_columns_that_are_never_null() -> None:
    found = with_own_key(T, OwnColumns(key=("note", "a")))
    assert found.key == Key((4, 2), "", False) and found.second_key is None
    assert with_own_key(T, OwnColumns(key=("b",)), lenient=True).key is None
    with pytest.raises(Unsupported, match=r"ADP-162: `key` .* column b"):
        with_own_key(T, OwnColumns(key=("a", "b")))
    for column, why in (
        (Column(2, "a", INT), "may be NULL"),
        (Column(2, "a", INT, False, "1", generated="stored"), "is gen"),
    ):
        table = T.with_(columns=(T.columns[0], column))
        with pytest.raises(Unsupported, match=f"ADP-165: .* column a, which {why}"):
            with_own_key(table, OwnColumns(key=("a",)))
