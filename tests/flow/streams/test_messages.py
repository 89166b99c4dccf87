"""Messages are enqueued at the source and dequeued by messaging clients, each exactly once for each client."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.errors import ConfigError, DdlReplError, Fenced, LockHeld, MessageError, RepositoryError
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.flow.streams.sync_capture import sync_capture
from airflow_ddlrepl.messaging import messaging_client
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.repository.dequeued import FeedPosition
from airflow_ddlrepl.streams.messages import RowLcr, UserMessage
from tests.flow.streams.apply_process.test_apply import begun as apply_channel
from tests.flow.streams.apply_process.test_apply import rules as apply_rules
from tests.flow.streams.messaging import BATTERY, channel, message_rule, names, put, rules, take
from tests.flow.streams.streams_channel import BATTERY_TABLES, StreamsChannel, streams_channel

CELLS = {
    "table_not": ("B3 B5 B6 B7 B8", [rules("global", "table_not"), rules("table", "table_not", inclusion_rule=False)]),
    "table": ("B1 B2 B4", [rules("table", "table")]),
    "subset": ("B1", [rules("subset", "subset")]),
    "schema_not": ("B7 B8", [rules("global", "schema_not"), rules("schema", "schema_not", inclusion_rule=False)]),
    "schema": ("B1 B2 B3 B4 B5 B6", [rules("schema", "schema")]),
    "all_not": ("B9 B10 B11", [rules("global", "all_not", inclusion_rule=False)]),
    "all": ("B1 B2 B3 B4 B5 B6 B7 B8", [rules("global", "all")]),
    "all_rows": ("B1 B2 B3 B7", [rules("global", "all_rows", include_ddl=False)]),
    "all_ddl": ("B4 B5 B6 B8", [rules("global", "all_ddl", include_dml=False)]),
    "schema_rows": ("B1 B2 B3", [rules("schema", "schema_rows", include_ddl=False)]),
    "schema_ddl": ("B4 B5 B6", [rules("schema", "schema_ddl", include_dml=False)]),
    "table_rows": ("B1 B2", [rules("table", "table_rows", include_ddl=False)]),
    "table_ddl": ("B4", [rules("table", "table_ddl", include_dml=False)]),
    "message": ("B9", [message_rule("message")]),
    "message_not": ("B1 B2 B3 B4 B5 B6 B7 B8 B10 B11", [message_rule("message_not", inclusion_rule=False)]),
}
"""For each client: what it takes of the battery, and the calls that make it."""
REQUIRED = {
    "table_not": ("ST-T-22",),
    "table": ("ST-T-23", "ST-R-12"),
    "subset": ("ST-T-23", "ST-S-32"),
    "schema_not": ("ST-T-24",),
    "schema": ("ST-T-25",),
    "all_not": ("ST-T-26",),
    "all": ("ST-T-27",),
    "all_rows": ("ST-S-26",),
    "all_ddl": ("ST-S-27",),
    "schema_rows": ("ST-S-28",),
    "schema_ddl": ("ST-S-29",),
    "table_rows": ("ST-S-30",),
    "table_ddl": ("ST-S-31",),
    "message": ("ST-S-33", "ST-M-06", "ST-M-15"),
    "message_not": ("ST-M-07",),
}


@pytest.fixture(scope="module")
def battery_queue(pg18: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamsChannel]:
    """A channel with the battery in its queue."""
    calls = [call for _, made in CELLS.values() for call in made]
    source = pg18.create_database("messages_source")
    found = channel(tmp_path_factory.mktemp("messages"), source, *calls, place={"slot": "messages"})
    put(found, *BATTERY.values())
    yield found
    pg18.drop_database("messages_source")


Begin = Callable[..., StreamsChannel]


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    """A function that activates a channel with these clients."""
    return lambda *calls, **more: channel(tmp_path, databases.source, *calls, **more)


@pytest.mark.parametrize("client", [pytest.param(one, marks=pytest.mark.req(*REQUIRED[one])) for one in CELLS])
def test_what_a_messaging_client_takes_of_the_battery(battery_queue: StreamsChannel, client: str) -> None:
    """Before it is invoked all messages wait; what it does not return is gone afterwards."""
    wanted = CELLS[client][0].split()
    assert names(take(battery_queue, client, browse=True)) == wanted
    found = take(battery_queue, client)
    assert names(found) == wanted
    assert sum(found.discarded.values()) == len(BATTERY) - len(wanted)
    again = take(battery_queue, client)
    assert (again.messages, again.discarded) == ((), {})


FUNCTIONS = "tests.flow.streams.message_functions"
TEN_MORE = {"set_rule_transform_function": {"rule_name": "msg", "transform_function": "own.ten_more"}}
ANY = message_rule("any", ":msg.f > 0")


def test_a_message_is_enqueued_with_the_transaction_of_its_application(begin: Begin) -> None:
    """What is rolled back is no message; what commits is one, in the order of the transaction."""
    hr = begin(ANY)
    with psycopg.connect(hr.source) as connection:
        put(hr, BATTERY["B9"], connection=connection)
        connection.rollback()
        connection.execute("INSERT INTO hr.t VALUES (1)")
        put(hr, BATTERY["B10"], connection=connection)
        connection.execute("SELECT ddlrepl.enqueue(%s)", [json.dumps(BATTERY["B9"])])
    hr.stage(flow.capture)
    assert names(take(hr)) == ["B10", "B9"]


@pytest.mark.req("ST-M-08", "ST-R-21")
def test_cycles_leave_the_messages_where_they_are(begin: Begin) -> None:
    """Nobody is invoked: nothing is taken, by cycles either; captured rows are no messages for a client."""
    hr = begin(rules("global", "all"), ANY)
    put(hr, BATTERY["B1"], BATTERY["B9"])
    hr.at_source("INSERT INTO hr.t VALUES (1)", "ALTER TABLE hr.t ADD added text")
    hr.stage(flow.capture)
    for client, wanted in (("all", ["B1"]), ("any", ["B9"])):
        assert names(take(hr, client)) == wanted


def test_so_many_and_then_the_others(begin: Begin) -> None:
    hr = begin(ANY)
    put(hr, *(BATTERY[name] for name in ("B9", "B10", "B9")))
    put(hr, BATTERY["B10"])
    assert names(take(hr, at_most=2)) == ["B9", "B10"]
    assert names(take(hr, browse=True, at_most=1)) == ["B9"]
    assert [names(take(hr, at_most=1)) for _ in range(3)] == [["B9"], ["B10"], []]


def test_a_block_that_fails_takes_nothing(begin: Begin) -> None:
    """A caller whose own work fails gets the messages again, and nobody else dequeues meanwhile."""
    hr = begin(ANY)
    put(hr, BATTERY["B9"], BATTERY["B10"])
    with pytest.raises(ZeroDivisionError), messaging_client(hr.file) as client:
        assert len(list(client.dequeue())) == 2
        raise ZeroDivisionError
    with messaging_client(hr.file) as client:
        assert len(list(client.browse())) == 2
        first = next(client.dequeue())
        with pytest.raises(LockHeld), messaging_client(hr.file, wait_seconds=0):
            pass
    assert first == UserMessage("own.m", {"f": Decimal(1)})
    assert names(take(hr)) == ["B10"]


def test_a_stale_process_takes_nothing(begin: Begin) -> None:
    """One that slept past its lock writes no position: what it was given, another one was given since."""
    hr = begin(ANY)
    put(hr, BATTERY["B9"])
    with hr.opened() as run:
        lock = run.repository.client_lock("hr", "any", "asleep")
        lock.release()
        assert names(take(hr)) == ["B9"]
        with pytest.raises(Fenced):
            run.repository.set_dequeued("hr", "any", lock.token, {"capture": FeedPosition(1, LogKey(1, 0))})


def test_a_process_that_is_killed_leaves_the_messages(begin: Begin) -> None:
    hr = begin(ANY)
    put(hr, BATTERY["B9"])
    script = (
        "import os, sys; from airflow_ddlrepl.messaging import messaging_client\n"
        "with messaging_client(sys.argv[1]) as client:\n"
        "    assert len(list(client.dequeue())) == 1; os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(hr.file)], check=False).returncode == -9
    assert names(take(hr)) == ["B9"]


def test_positions_only_go_forward_in_a_channel_that_is_there(begin: Begin) -> None:
    hr = begin(ANY)
    put(hr, BATTERY["B9"])
    take(hr)
    first = {"capture": FeedPosition(1, LogKey(1, 0))}
    with hr.opened() as run:
        for name, client, code in (("hr", "any", "REP-102"), ("other", "any", "REP-108")):
            with run.repository.client_lock(name, client, "test") as lock, pytest.raises(RepositoryError) as found:
                run.repository.set_dequeued(name, client, lock.token, first)
            assert found.value.code == code


def test_a_client_that_comes_too_late_is_told(begin: Begin) -> None:
    """Segments that it had not read are gone: it does not go on as if there had been no messages."""
    hr = begin(ANY)
    put(hr, BATTERY["B9"])
    take(hr)
    put(hr, BATTERY["B10"])
    with hr.opened() as run, run.locked() as token:
        run.repository.expire_segments("hr", token, run.captured())
    with pytest.raises(MessageError) as found:
        take(hr)
    assert found.value.code == "MSG-104"


def test_messages_that_can_not_be_read_are_discarded_and_told(begin: Begin, caplog: pytest.LogCaptureFixture) -> None:
    hr = begin(ANY)
    hr.at_source("""SELECT ddlrepl.enqueue('{"type": "own.m", "what": 1}')""")
    put(hr, BATTERY["B9"])
    with caplog.at_level("WARNING", "ddlrepl"):
        found = take(hr)
    assert names(found) == ["B9"]
    assert "has no 'what'" in next(iter(found.discarded)) and "it is discarded" in caplog.text


def test_a_channel_that_starts_over_begins_with_its_new_messages(begin: Begin) -> None:
    hr = begin(ANY)
    put(hr, BATTERY["B9"], BATTERY["B10"])
    assert names(take(hr)) == ["B9", "B10"]
    with hr.opened() as run:
        flow.deactivate(run)
    with pytest.raises(ConfigError) as found:
        put(hr, BATTERY["B9"])
    assert found.value.code == "CFG-130"
    hr.activate()
    put(hr, BATTERY["B10"])
    assert names(take(hr)) == ["B10"]


@pytest.mark.parametrize(
    ("message", "queue", "code", "why"),
    [
        ({"type": "own.x", "fields": {}}, "", "MSG-101", "own.x is not declared"),
        ({"type": "own.m", "fields": {"g": 1}}, "", "MSG-101", "has no field g"),
        ({"type": "own.m", "fields": {"f": "1"}}, "", "MSG-101", "a field f of kind number, and '1' is none"),
        ({"type": "own.m", "fields": {"f": 1}, "class": "buffered"}, "", "MSG-101", "a buffered message"),
        ({"object": "t", "command": "INSERT"}, "", "RUL-126", "no name of the form SCHEMA.NAME"),
        ({"type": "own.m", "fields": {"f": 1}}, "other", "MSG-102", "does not fill queue other"),
    ],
)
def test_messages_that_are_refused(
    battery_queue: StreamsChannel, message: Any, queue: str, code: str, why: str
) -> None:
    with pytest.raises(DdlReplError) as found:
        put(battery_queue, BATTERY["B9"], message, queue=queue)
    assert (found.value.code, why in found.value.message) == (code, True)


@pytest.mark.req("ST-M-02", "ST-M-03", "ST-X-73", "ST-R-19")
def test_propagations_pass_messages_on_by_their_rules(begin: Begin) -> None:
    """A positive and a negative rule; the messaging client of the first queue changes nothing for the others."""
    positive, negative = (
        {
            "add_message_propagation_rule": {
                "message_type": "own.m", "rule_condition": ":msg.f = 1", "inclusion_rule": is_positive,
                "streams_name": f"to_{queue}", "source_queue_name": "q", "destination_queue_name": queue,
            }
        }
        for queue, is_positive in (("q2", True), ("q3", False))
    )  # fmt: skip
    ends = [message_rule(f"at_{queue}", ":msg.f > 0", queue_name=queue) for queue in ("q2", "q3")]
    others = [message_rule(f"at_{queue}", type="own.n", queue_name=queue) for queue in ("q2", "q3")]
    here = (message_rule("here", rule_name="msg"), TEN_MORE)
    hr = begin(positive, negative, *ends, *others, *here, functions={"own.ten_more": f"{FUNCTIONS}:ten_more"})
    put(hr, *(BATTERY[name] for name in ("B9", "B10", "B11")))
    (changed,) = take(hr, "here").messages
    assert isinstance(changed, UserMessage) and changed.fields == {"f": 11}
    hr.stage(propagate)
    assert names(take(hr, "at_q2")) == ["B9"]
    assert names(take(hr, "at_q3")) == ["B10", "B11"]


def test_rows_of_a_synchronous_capture_are_dequeued(databases: Any, tmp_path: Path) -> None:
    """They are persistent; values have their types, and each comes once."""
    captured = {"streams_type": "sync_capture", "streams_name": "sync", "queue_name": "q", "table_name": "hr.t"}
    hr = streams_channel(tmp_path, databases.source, {"add_table_rules": captured}, rules("table", "c"))
    hr.at_source(*BATTERY_TABLES)
    hr.activate()
    hr.stage(sync_capture)
    hr.at_source("INSERT INTO hr.t VALUES (1, 5, 'one')", "INSERT INTO hr.u VALUES (1)", "DELETE FROM hr.t")
    hr.stage(sync_capture)
    (first,) = take(hr, at_most=1).messages
    (second,) = take(hr).messages
    assert isinstance(first, RowLcr) and isinstance(second, RowLcr)
    assert (first.command, first.new) == ("INSERT", {"id": 1, "k": 5, "note": "one"})
    assert (second.command, second.old["id"]) == ("DELETE", 1)
    assert take(hr).messages == ()


def test_an_enqueued_row_lcr_is_applied(databases: Any, tmp_path: Path) -> None:
    hr = apply_channel(databases, tmp_path, apply_rules("schema"))
    change = {"object": "hr.t", "command": "INSERT", "new": {"id": 5, "k": 6}, "source_database": "dbs1"}
    put(hr, change)
    hr.stage(flow.apply)
    with psycopg.connect(databases.target) as connection:
        assert connection.execute("SELECT id, k, note FROM hr.t").fetchall() == [(5, 6, None)]
