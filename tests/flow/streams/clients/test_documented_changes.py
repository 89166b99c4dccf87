"""The examples of the documentation of Oracle Streams on real servers: its scripts run, and changes go as it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.streams.messages import UserMessage
from airflow_ddlrepl.streams.script.compile import compile_script
from tests.flow.streams.messaging import put, take
from tests.flow.streams.streams_channel import StreamsChannel, streams_channel
from tests.streams.sentences import Change, Example, read
from tests.support.refusing import ask
from tests.support.replica import run

TABLES = ("hr.countries", "hr.departments", "hr.employees", "hr.job_history", "hr.locations", "oe.inventories")
DATABASE = (
    "CREATE SCHEMA hr",
    "CREATE SCHEMA oe",
    *(f"CREATE TABLE {table} (id int PRIMARY KEY, note text)" for table in TABLES),
    *(f"INSERT INTO {table} SELECT i FROM generate_series(1, 9) i" for table in TABLES),
    "CREATE TABLE hr.regions (region_id int PRIMARY KEY, note text)",
    "CREATE INDEX loc_city_ix ON hr.locations (note)",
    "CREATE FUNCTION hr.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE TRIGGER update_job_history AFTER UPDATE ON hr.employees FOR EACH ROW EXECUTE FUNCTION hr.nothing()",
)
CAPTURE = {"streams_type": "capture", "streams_name": "everything", "queue_name": "streams_queue"}
EVERYTHING = {"add_global_rules": {**CAPTURE, "include_ddl": True, "include_tagged_lcr": True}}
SOURCE = {"source_database": "dbs1.example.com"}


def section(*examples: str) -> dict[str, Any]:
    """What the scripts of examples make: `calls` and `message_types`."""
    script = "\n".join(read(name).script for name in examples)
    return compile_script(script).parameters().model_dump(mode="json", exclude_defaults=True)


def begun(folder: Path, databases: Any, *calls: dict[str, Any], **streams: Any) -> StreamsChannel:
    """An active channel; source and target have the database of the examples."""
    channel = streams_channel(folder, databases.source, *calls, **SOURCE, **streams)
    channel.at_source(*DATABASE)
    channel.activate()
    return channel


def applied_by(client: str, databases: Any, **more: Any) -> dict[str, Any]:
    """The key `targets`, with one that this apply process writes; it has the tables and rows of the source."""
    run(databases.target, *DATABASE)
    return {"targets": [{"name": "dbs2", "location": databases.target, "apply": client, **more}]}


def made(channel: StreamsChannel, example: Example) -> None:
    """All changes of the example are made at the source, each in a transaction of its own."""
    channel.at_source(*(one.statement for one in (*example.takes, *example.ignores)))


def lines(one: Change) -> list[str]:
    """What a queue has of a change: the command and the table of each row, or the statement."""
    if one.becomes:
        return [f"{one.becomes} {one.table}"] * one.count
    return [f"truncate {one.table}" if one.command.startswith("TRUNCATE") else one.statement]


@pytest.mark.req("ST-S-71", "ST-S-75", "ST-S-76", "ST-S-77", "ST-S-78")
def test_a_propagation_passes_on_the_changes_of_its_example(databases: Any, tmp_path: Path) -> None:
    example = read("schema_propagation_rules")
    channel = begun(tmp_path, databases, EVERYTHING, *section(example.name)["calls"])
    made(channel, example)
    channel.stage(flow.capture)
    result = channel.stage(propagate)
    found = channel.content("streams_queue@dbs2.example.com")
    assert [one.partition(" {")[0] for one in found] == [line for one in example.takes for line in lines(one)]
    assert len(found) == 26
    assert [(why.split(":")[0], count) for why, count in result.discarded.items()] == [("oe.inventories", 1)]


AT_TARGET: dict[str, dict[str, Any]] = {
    "table_rules": {
        "SELECT array_agg(id ORDER BY id) FROM hr.locations": [6, 7, 8, 9, 101],
        "SELECT count(*) FROM hr.employees": 9,
        "SELECT count(note) FROM hr.countries": 0,
        "SELECT string_agg(attrelid::regclass::text, ',') FROM pg_attribute WHERE attname = 'more'": "hr.countries",
    },
    "subset_rules": {
        "SELECT count(*) FROM hr.regions": 0,
        "SELECT count(*) FROM hr.employees": 9,
    },
    "schema_without_a_table": {
        "SELECT max(id) FROM hr.departments": 101,
        "SELECT array_agg(id ORDER BY id) FROM hr.employees WHERE note = 'new'": [1, 2, 3, 4, 5],
        "SELECT min(id) FROM hr.countries": 2,
        "SELECT array_agg(id ORDER BY id) FROM hr.job_history": [*range(1, 10)],
        "SELECT count(note) FROM hr.job_history": 0,
    },
}
"""What the target has of each example after its changes."""


@pytest.mark.req("ST-S-89", "ST-S-90", "ST-U-18", "ST-U-19", "ST-N-13", "ST-N-14")
@pytest.mark.parametrize("name", AT_TARGET)
def test_an_apply_process_applies_the_changes_of_its_example(name: str, databases: Any, tmp_path: Path) -> None:
    example = read(name)
    target = applied_by(example.client.lower(), databases)
    channel = begun(tmp_path, databases, EVERYTHING, *section(name)["calls"], **target)
    channel.at_source("INSERT INTO hr.regions VALUES (4)")
    channel.stage(flow.replicate)
    made(channel, example)
    channel.stage(flow.capture)
    found = channel.stage(flow.apply)
    kinds = Counter(line for one in example.takes for line in [one.becomes.lower() or "ddl"] * one.count)
    assert found.changes == kinds and found.errors == 0
    assert sum(found.discarded.values()) == sum(one.count for one in example.ignores)
    assert {query: ask(databases.target, query)[0][0] for query in AT_TARGET[name]} == AT_TARGET[name]


@contextmanager
def tagged(source: str, tag: str) -> Iterator[psycopg.Connection[Any]]:
    """A session whose changes have a tag: the name of its replication origin."""
    with psycopg.connect(source, autocommit=True) as connection:
        connection.execute("SELECT pg_replication_origin_create(%s)", [tag])
        connection.execute("SELECT pg_replication_origin_session_setup(%s)", [tag])
        yield connection
        connection.execute("SELECT pg_replication_origin_session_reset()")


def forget(source: str, *tags: str) -> None:
    with psycopg.connect(source, autocommit=True) as connection:
        for tag in tags:
            connection.execute("SELECT pg_replication_origin_drop(%s)", [tag])


@pytest.mark.req("ST-S-52", "ST-S-56", "ST-S-57", "ST-S-62")
@pytest.mark.parametrize("name", ["global_rules", "global_rules_with_tags"])
def test_a_capture_process_captures_what_its_global_rules_say(name: str, databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases, *section(name)["calls"])
    example = read("schema_propagation_rules")
    made(channel, example)
    tag = f"tag of {databases.source[-8:]}"
    with tagged(databases.source, tag) as session:
        session.execute("INSERT INTO hr.departments VALUES (500)")
        session.execute("ALTER TABLE hr.departments ADD tagged int")
    forget(databases.source, tag)
    channel.stage(flow.capture)
    wanted = [line for one in (*example.takes, *example.ignores) for line in lines(one)]
    if name == "global_rules_with_tags":
        wanted += ["INSERT hr.departments", "ALTER TABLE hr.departments ADD tagged int"]
    assert [one.partition(" {")[0] for one in channel.content("streams_queue")] == wanted


@pytest.mark.req("ST-A-04")
def test_an_apply_process_applies_the_changes_that_have_the_tag_02(databases: Any, tmp_path: Path) -> None:
    target = applied_by("apply_02", databases)
    channel = begun(tmp_path, databases, EVERYTHING, *section("and_condition")["calls"], **target)
    with tagged(databases.source, "\2") as right, tagged(databases.source, "\3") as wrong:
        for number, session in ((102, right), (103, wrong)):
            session.execute(f"INSERT INTO hr.departments VALUES ({number})".encode())
            session.execute(f"INSERT INTO hr.employees VALUES ({number})".encode())
        channel.at_source("INSERT INTO hr.departments VALUES (104)")
        right.execute("ALTER TABLE hr.departments ADD with_02 int")
        wrong.execute("ALTER TABLE hr.departments ADD with_03 int")
        channel.at_source("ALTER TABLE hr.departments ADD without int")
    forget(databases.source, "\2", "\3")
    channel.stage(flow.capture)
    assert channel.stage(flow.apply).changes == {"insert": 1, "ddl": 1}
    assert ask(databases.target, "SELECT id FROM hr.departments WHERE id > 9") == [(102,)]
    assert ask(databases.target, "SELECT max(id) FROM hr.employees") == [(9,)]
    columns = "SELECT array_agg(attname::text) FROM pg_attribute WHERE attrelid = 'hr.departments'::regclass"
    assert ask(databases.target, f"{columns} AND attname LIKE 'with%%'") == [(["with_02"],)]


REACHED = (
    "CREATE INDEX countries_note ON hr.countries (note)",
    "ALTER INDEX hr.countries_note SET (fillfactor = 90)",
    "CREATE TRIGGER on_countries AFTER UPDATE ON hr.countries FOR EACH ROW EXECUTE FUNCTION hr.nothing()",
    "DROP TRIGGER on_countries ON hr.countries",
    "ALTER TABLE hr.countries ADD more int",
)
NOT_REACHED = (
    "CREATE VIEW hr.all_countries AS SELECT * FROM hr.countries",
    "CREATE MATERIALIZED VIEW hr.counted AS SELECT count(*) FROM hr.countries",
    "CREATE FUNCTION hr.number() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM hr.countries'",
    "CREATE TABLE hr.like_countries (LIKE hr.countries)",
    "CREATE INDEX employees_note ON hr.employees (note)",
)


@pytest.mark.req("ST-S-74", "ST-S-86", "ST-S-87", "ST-S-88")
def test_a_ddl_rule_of_a_table_is_true_for_its_parts_and_not_for_what_refers_to_it(
    databases: Any, tmp_path: Path
) -> None:
    """An index or a trigger is part of the table; a view, a function or a copy of its columns only mentions it."""
    target = applied_by("apply", databases, code=["trigger"])
    channel = begun(tmp_path, databases, EVERYTHING, *section("table_rules")["calls"], **target)
    both = [one for pair in zip(REACHED, NOT_REACHED, strict=True) for one in pair]
    channel.at_source(*both)
    channel.stage(flow.capture)
    assert channel.content("streams_queue") == both
    found = channel.stage(flow.apply)
    assert (found.changes, sum(found.discarded.values())) == ({"ddl": len(REACHED)}, len(NOT_REACHED))
    there = "SELECT relname::text FROM pg_class WHERE relname ~ '(countries|employees)_note|all_count|counted|like_'"
    assert ask(databases.target, there) == [("countries_note",)]


@pytest.mark.req("ST-R-42")
def test_an_apply_process_has_rules_for_tables_of_one_schema_and_for_another_schema(
    databases: Any, tmp_path: Path
) -> None:
    of = {"streams_type": "apply", "streams_name": "apply", "queue_name": "streams_queue", **SOURCE}
    rules = ({"add_table_rules": {"table_name": "oe.orders", **of}}, {"add_schema_rules": {"schema_name": "hr", **of}})
    orders = "CREATE TABLE oe.orders (id int PRIMARY KEY)"
    target = applied_by("apply", databases)
    run(databases.target, orders)
    channel = begun(tmp_path, databases, EVERYTHING, *rules, **target)
    channel.at_source(orders)
    channel.stage(flow.replicate)
    tables = ("oe.orders", "oe.inventories", "hr.employees", "hr.countries")
    channel.at_source(*(f"INSERT INTO {table} VALUES (77)" for table in tables))
    channel.stage(flow.replicate)
    found = [table for table in tables if ask(databases.target, f"SELECT 1 FROM {table} WHERE id = 77")]
    assert found == ["oe.orders", "hr.employees", "hr.countries"]


HANDLED: list[UserMessage] = []


def handle(message: UserMessage, _: Any) -> None:
    """The message handler of apply_msg."""
    HANDLED.append(message)


@pytest.mark.req("ST-M-04", "ST-M-06", "ST-M-08", "ST-M-10", "ST-M-12", "ST-M-14")
def test_messages_go_to_the_client_whose_rule_takes_their_region_and_priority(databases: Any, tmp_path: Path) -> None:
    """The apply process takes its messages by itself, the messaging client once it is invoked; nobody has the third."""
    made_by = section("message_rules")
    handler = {"alter_apply": {"apply_name": "apply_msg", "message_handler": "handle"}}
    more = {"functions": {"handle": f"{__name__}:handle"}, "message_types": made_by["message_types"]}
    target = applied_by("apply_msg", databases)
    channel = begun(tmp_path, databases, EVERYTHING, *made_by["calls"], handler, **more, **target)
    messages = [
        {"type": "strmadmin.region_pri_msg", "fields": {"region": region, "priority": priority, "message": "m"}}
        for region, priority in (("EUROPE", 1), ("AMERICAS", 2), ("ASIA", 1), ("EUROPE", 2))
    ]
    put(channel, *messages)
    HANDLED.clear()
    channel.stage(flow.replicate)
    assert [(one.fields["region"], one.fields["priority"]) for one in HANDLED] == [("AMERICAS", 2)]
    assert take(channel, "msg_client").written() == messages[:1]
    assert take(channel, "msg_client").messages == ()
    channel.stage(flow.replicate)
    assert len(HANDLED) == 1
