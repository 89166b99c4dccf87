"""`target_tables` in the channel file: what is accepted, what is refused and with which words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.settings.table_settings import NO_SETTINGS
from airflow_ddlrepl.notation.column_types import column_type
from tests.config.test_restrict import FILE, JOBS, ORDERS, channel


def test_the_first_that_matches_a_table_decides_and_its_text_has_all() -> None:
    found = channel(
        target_tables=[
            {"tables": "orders", "targets": "berlin", "soft_delete": "gone", "deleted_at": "at"},
            {"tables": "*.orders", "extra": {"a": " (x)*2", "b": "{ commit_time }::date", "c": "'it''s'"}},
        ]
    )
    one, other = (found.at(name).settings(ORDERS).columns for name in ("berlin", "paris"))
    assert (one.names, one.extra) == (("gone", "at"), {})
    assert other.extra == {"a": "(x * 2)", "b": "CAST({commit_time} AS date)", "c": "'it''s'"}
    assert found.at("berlin").settings(JOBS) is NO_SETTINGS
    assert found.has_properties


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"tables": "t"}, "says nothing: write soft_delete, time_key, extra, key, types or coerce_error_policy"),
        ({"types": {"a": "money"}}, "a: 'money' is no type that a column can be given: write smallint, integer"),
        ({"types": {"a": "numeric(2,3)"}}, "a: 'numeric(2,3)': the type numeric can't have that size"),
        ({"types": {"a": "int(4)"}}, "a: 'int(4)': the type integer can't have that size"),
        ({"types": {"": "int"}}, "name: '' can be no name"),
        ({"coerce_error_policy": "warn"}, "coerce_error_policy"),
        ({"coerce_error_policy": "discard", "soft_delete": "x"}, "says coerce_error_policy: discard and key, time_key"),
        ({"key": ["a", "a"]}, "key: names a column twice"),
        ({"key": "a", "soft_delete": "x"}, "says key and time_key or soft_delete"),
        ({"deleted_at": "x"}, "deleted_at is for soft_delete"),
        ({"soft_delete": "ctid"}, "ctid is a system column's name"),
        ({"soft_delete": ""}, "name: '' can be no name"),
        ({"soft_delete": "a", "extra": {"a": "1"}}, "two columns are called a"),
        ({"time_key": True, "soft_delete": "a"}, "says time_key and soft_delete"),
        ({"time_key": True, "extra": {"a": "{operation}"}}, "write extra, with {position}, {sequence}"),
        ({"extra": {"a": "now()"}}, "a: now(…): there are no functions"),
        ({"extra": {"a": "{time}"}}, "a: in braces there is commit_time, operation, position, sequence, transaction"),
        ({"extra": {"a": "{position"}}, "a: } is missing before its end"),
        ({"extra": {"a": "{position} + 1"}}, "a: ({position} + 1): a value of the change stands alone"),
        ({"extra": {"a": "{position} x"}}, "a: x can not be there"),
        ({"extra": {"a": "(" * 2000}}, "a: it is nested too deeply"),
    ],
)
def test_what_can_not_be_is_told_with_its_line(entry: Any, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_channel(f"{FILE}target_tables:\n- {json.dumps(entry)}\n", "shop.yml")
    assert caught.value.message.startswith("shop.yml:10: target_tables[0]")
    assert told in caught.value.message


def test_a_value_of_the_change_is_in_no_condition() -> None:
    with pytest.raises(ConfigError, match=r"\{ commit_time \} can not be there"):
        channel({"condition": "a > {commit_time}"})


@pytest.mark.parametrize(
    ("text", "spelled", "typmod"),
    [
        (" INT ", "integer", -1),
        ("decimal(12, 2)", "numeric(12,2)", 786438),
        ("numeric(12)", "numeric(12,0)", 786436),
        ("varchar(20)", "character varying(20)", 24),
        ("char", "character(1)", 5),
        ("timestamp(3) with time zone", "timestamp(3) with time zone", 3),
        ("timestamptz(3)", "timestamp(3) with time zone", 3),
        ("time", "time without time zone", -1),
    ],
)
def test_a_type_is_spelled_as_the_server_does(text: str, spelled: str, typmod: int) -> None:
    found = column_type(text)
    assert (found.text, found.modifier) == (spelled, typmod)


def test_a_target_may_have_rows_changes_or_both() -> None:
    text = FILE.replace("berlin}", "berlin, history: both}")
    assert text != FILE
    found = read_channel(f"{text}target_tables:\n- {{tables: orders, soft_delete: gone}}\n", "shop.yml")
    rows, changes = (found.at(name) for name in ("berlin", "berlin.changelog"))
    assert (rows.target_name(ORDERS).name, changes.target_name(ORDERS).name) == ("orders", "orders_changelog")
    assert (rows.settings(ORDERS).columns.names, rows.settings(JOBS)) == (("gone",), NO_SETTINGS)
    assert changes.settings(ORDERS).columns == changes.settings(JOBS).columns
    assert changes.settings(JOBS).columns.time_key
    assert (found.holder("berlin"), found.holder("berlin.changelog")) == ("shop", "shop@berlin.changelog")
    alone = read_channel(FILE.replace("berlin}", "berlin, history: changelog}"), "shop.yml")
    assert alone.at("berlin").settings(JOBS).columns == changes.settings(JOBS).columns
    assert alone.at("berlin").target_name(JOBS) == JOBS and alone.at("paris").settings(JOBS) is NO_SETTINGS
