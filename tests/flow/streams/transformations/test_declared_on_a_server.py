"""Declared transformations of rows on their way from one queue into others: each kind, and the order of several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from tests.flow.streams.streams_channel import CAPTURE, StreamsChannel, streams_channel

Call = dict[str, dict[str, Any]]
TABLE = "CREATE TABLE john.customers (id int PRIMARY KEY, name text, address text)"
STATEMENTS = (
    "INSERT INTO john.customers VALUES (1, 'Ann', 'old')",
    "UPDATE john.customers SET address = 'new'",
    "DELETE FROM john.customers",
)


def rename_table(to: str, of: str = "john.customers", **more: Any) -> Call:
    return {"rename_table": {"from_table_name": of, "to_table_name": to, **more}}


def rename_schema(of: str, to: str, **more: Any) -> Call:
    return {"rename_schema": {"from_schema_name": of, "to_schema_name": to, **more}}


def of_column(procedure: str, table: str = "john.customers", **more: Any) -> Call:
    return {procedure: {"table_name": table, **more}}


def delete(column: str, **more: Any) -> Call:
    return of_column("delete_column", column_name=column, **more)


def add(column: str, value: str, **more: Any) -> Call:
    return of_column("add_column", column_name=column, column_value=value, **more)


def keep(columns: str, **more: Any) -> Call:
    return of_column("keep_columns", column_list=columns, **more)


def rename(column: str, to: str, **more: Any) -> Call:
    return of_column("rename_column", from_column_name=column, to_column_name=to, **more)


REVERSED = (
    keep("id,street", table="sue.clients", step_number=6),
    delete("name", table="sue.clients", step_number=5),
    rename("address", "street", table="sue.clients", step_number=4),
    add("city", "Rome", table="sue.clients", step_number=3),
    rename_table("sue.clients", "mary.customers", step_number=2),
    rename_schema("john", "mary", step_number=1),
)
EACH = (
    rename_schema("sue", "mary"),
    rename_table("sue.clients"),
    add("name", "added"),
    rename("address", "street"),
    delete("name"),
    keep("id,name,address"),
)
"""The schema of the row before the names of the columns, the last kind first: the order of the calls is no matter."""
CASES: dict[str, tuple[tuple[str, ...], tuple[Call, ...], str, dict[str, Any]]] = {
    "add": (
        ("ST-X-02", "ST-X-01"),
        (add("city", "Rome"),),
        "john.customers",
        {"name": 0, "address": 0, "city": "Rome"},
    ),
    "delete": (("ST-X-03",), (delete("address"),), "john.customers", {"name": 0}),
    "keep": (("ST-X-04",), (keep("id,name"),), "john.customers", {"name": 0}),
    "rename_column": (("ST-X-05",), (rename("address", "street"),), "john.customers", {"name": 0, "street": "address"}),
    "rename_schema": (("ST-X-06",), (rename_schema("john", "mary"),), "mary.customers", {"name": 0, "address": 0}),
    "rename_table": (("ST-X-07",), (rename_table("sue.clients"),), "sue.clients", {"name": 0, "address": 0}),
    "delete_and_add": (
        ("ST-Z-04", "ST-Z-02"),
        (add("address", "added"), delete("address")),
        "john.customers",
        {"name": 0, "address": "added"},
    ),
    "both_names": (
        ("ST-Z-05", "ST-Z-03"),
        (rename_schema("sue", "mary"), rename_table("sue.clients")),
        "mary.clients",
        {"name": 0, "address": 0},
    ),
    "second_not_done": (
        ("ST-Z-06", "ST-Z-02"),
        (rename_schema("john", "mary"), rename_table("sue.clients")),
        "sue.clients",
        {"name": 0, "address": 0},
    ),
    "each_kind": (
        ("ST-Z-02", "ST-Z-03"),
        EACH,
        "mary.clients",
        {"street": "address", "name": "added"},
    ),
    "one_number": (
        ("ST-Z-09",),
        (add("address", "added", step_number=3), delete("address", step_number=3)),
        "john.customers",
        {"name": 0, "address": "added"},
    ),
    "reversed": (("ST-Z-10", "ST-Z-03", "ST-Z-07"), REVERSED, "sue.clients", {"street": "address"}),
}
"""For each queue: what it shows, the transformations, the table that rows are then of, and its columns beside `id`.

A column has a new value, or those of a column of the source; 0: of its own.
"""


def passed(name: str, transformations: tuple[Call, ...]) -> Iterator[Call]:
    """A propagation of its own into a queue of that name, with a rule of that name for rows of any table."""
    queues = {"streams_name": f"to_{name}", "source_queue_name": "q1", "destination_queue_name": name}
    yield {"add_table_propagation_rules": {"table_name": "john.customers", "dml_rule_name": f"r_{name}", **queues}}
    for call in transformations:
        ((procedure, parameters),) = call.items()
        yield {procedure: {"rule_name": f"r_{name}", **parameters}}


@pytest.fixture(scope="module")
def passed_on(pg18: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamsChannel]:
    """A row is inserted, updated and deleted, and has come into the queue of each case."""
    source = pg18.create_database("declared_source")
    calls = [call for name, (_, made, _, _) in CASES.items() for call in passed(name, made)]
    place = {"tables": ["john.*"], "slot": "declared"}
    channel = streams_channel(
        tmp_path_factory.mktemp("declared"), source, {"add_global_rules": CAPTURE}, *calls, place=place
    )
    channel.at_source("CREATE SCHEMA john", TABLE, "ALTER TABLE john.customers REPLICA IDENTITY FULL")
    channel.activate()
    channel.at_source(*STATEMENTS)
    channel.stage(flow.capture)
    channel.stage(flow.propagate)
    yield channel
    pg18.drop_database("declared_source")


def expected(table: str, columns: dict[str, Any]) -> list[str]:
    """The three changes as a queue shows them; a deleted row has none of the values that are added to new rows."""
    found = []
    for command, address in (("INSERT", "old"), ("UPDATE", "new"), ("DELETE", "new")):
        source = {"name": "Ann", "address": address}
        values: dict[str, Any] = {"id": 1}
        for name, of in columns.items():
            value = source.get(of or name, of)
            values[name] = value if of in (0, *source) or command != "DELETE" else None
        found.append(f"{command} {table} {values}")
    return found


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.req(*ids)) for name, (ids, *_) in CASES.items()])
def test_what_a_queue_gets(passed_on: StreamsChannel, name: str) -> None:
    _, _, table, columns = CASES[name]
    assert passed_on.content(name) == expected(table, columns)


@pytest.mark.req("ST-X-76", "ST-X-01")
def test_only_a_rule_of_the_positive_rule_set_transforms(databases: Any, tmp_path: Any) -> None:
    """The rule of the negative one deletes a column, and is true for no row that is left."""
    queues = {"streams_name": "p", "source_queue_name": "q1", "destination_queue_name": "q2"}
    calls = (
        {"add_global_rules": CAPTURE},
        {"add_table_propagation_rules": {"table_name": "john.customers", "dml_rule_name": "takes", **queues}},
        {"add_column": {"rule_name": "takes", **add("city", "Rome")["add_column"]}},
        {"create_rule_set": {"rule_set_name": "not_two"}},
        {"create_rule": {"rule_name": "two", "condition": ":dml.get_value('NEW','\"id\"').AccessNumber() = 2"}},
        {"add_rule": {"rule_name": "two", "rule_set_name": "not_two"}},
        {"alter_propagation": {"propagation_name": "p", "negative_rule_set_name": "not_two"}},
        {"delete_column": {"rule_name": "two", **delete("name")["delete_column"]}},
    )
    channel = streams_channel(tmp_path, databases.source, *calls, place={"tables": ["john.*"]})
    channel.at_source("CREATE SCHEMA john", TABLE)
    channel.activate()
    channel.at_source("INSERT INTO john.customers VALUES (1, 'Ann', 'a'), (2, 'Bob', 'b')")
    channel.stage(flow.capture)
    channel.stage(flow.propagate)
    kept = {"id": 1, "name": "Ann", "address": "a", "city": "Rome"}
    assert channel.content("q2") == [f"INSERT john.customers {kept}"]
