"""Texts of tables are read as JSON is read, whatever stands in names and defaults, and equal columns are shared."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from airflow_ddlrepl.model import stored
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.stored import TableText, read_table, read_with_tables, serialized
from airflow_ddlrepl.model.table import Table
from tests.support.shapes import tables

HOSTILE = (
    '],"key":',
    '], "key": ',
    '], "storage": 1',
    '"columns":[{"id":9}],"key":',
    '"columns": [{}], "storage": ',
    "\\",
    '"',
    "\u001a\U0001f600",
)


def spellings(table: Table) -> list[str]:
    data = table.to_json()
    jsonb = dict(sorted(data.items(), key=lambda item: (len(item[0]), item[0])))
    return [
        stored.table_text(table),
        json.dumps(data),
        json.dumps(jsonb),
        json.dumps(data, separators=(",", ":"), sort_keys=True),
        json.dumps({**{"types": data["types"]}, **data, "key": data["key"]}, ensure_ascii=False),
        json.dumps(dict(reversed(data.items()))),
    ]


def everything(table: Table) -> tuple[object, ...]:
    """What equality does not look at, too."""
    return table, table.storage, table.column_versions, [column.extra for column in table.columns]


@given(tables())
def test_a_table_is_read_from_every_spelling(table: Table) -> None:
    assert json.loads(stored.table_text(table)) == json.loads(json.dumps(table.to_json()))
    for text in spellings(table):
        assert everything(read_table(text)) == everything(table)
        assert everything(read_table(text)) == everything(Table.from_json(json.loads(text)))


@settings(max_examples=25, deadline=None)
@given(tables(), tables(2))
@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_users_are_no_borders(text: str, one: Table, other: Table) -> None:
    loud = one.with_(
        name=TableName(f"s{text}", f"n{text}"),
        columns=tuple(replace(c, name=f"{c.name}{text}", default=text, missing=text) for c in one.columns),
        partition_key=f"LIST (({text}))",
    )
    for spelled in spellings(loud):
        assert everything(read_table(spelled)) == everything(loud)
    event = Event(
        EventKind.DDL, LogKey(Position(7), 1), 3, 4, statement=text, query=text, settings={"role": text, text: text},
        tables=(loud, other), before=(other, loud), layout={"columns": [{"id": 1}], "key": text},
    )  # fmt: skip
    for spelled in (event.to_text(), json.dumps(event.to_json())):
        found = Event.from_text(spelled)
        assert found == event and "\n" not in spelled
        assert [everything(table) for table in found.tables + found.before] == [
            everything(table) for table in event.tables + event.before
        ]


def test_columns_of_equal_texts_are_one_object_and_what_is_not_compared_stays_apart() -> None:
    one = Table.from_json(json.loads(SHAPE % (1, "a", "")))
    other = read_table(SHAPE % (2, "b", ""))
    assert read_table(SHAPE % (1, "a", "")).columns is other.columns
    extra = read_table(SHAPE % (3, "c", "{commit_time}"))
    assert one.columns == extra.columns and extra.columns[0].extra == "{commit_time}"
    texts = [json.loads(stored.table_text(table))["columns"][0]["extra"] for table in (one, other, extra)]
    assert texts == ["", "", "{commit_time}"]
    assert json.loads(serialized(TableText(extra))) == json.loads(json.dumps(extra.to_json()))
    assert serialized({"a": [1]}) == json.dumps({"a": [1]})


SHAPE = (
    '{"id": %d, "name": ["s", "%s"], "columns": [{"id": 1, "name": "x", "type": {"text": "integer", "schema":'
    ' "pg_catalog", "name": "int4", "kind": "base", "oid": 23, "typmod": -1, "extension": null}, "extra": "%s"}],'
    ' "key": null, "types": []}'
)


@pytest.mark.parametrize("text", ["", "[]", '{"columns":[{"id":1}],"key":', '{"columns":[{"id":1},"key":1}', "{"])
def test_what_is_no_table_raises_as_it_did(text: str) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        read_table(text)
    with pytest.raises((ValueError, TypeError, KeyError)):
        Event.from_json(read_with_tables(text))
