"""Who calls a custom function: each of the five kinds of clients, as its own user."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.streams.dequeue import dequeue
from airflow_ddlrepl.flow.streams.sync_capture import sync_capture
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.streams.queue.call_context import CallContext, call_context
from airflow_ddlrepl.streams.rules.client import ClientKind
from tests.conftest import Databases
from tests.flow.streams.functions import CONTEXTS
from tests.flow.streams.streams_channel import BATTERY_TABLES, StreamsChannel, streams_channel
from tests.support.refusing import ask
from tests.support.replica import run

LISTED = {"asks": "tests.flow.streams.functions:asks", "who": "sql:etl.who"}
OWNED = "strmadmin.q"


def function(rule: str, name: str = "asks") -> dict[str, Any]:
    return {"set_rule_transform_function": {"rule_name": rule, "transform_function": name}}


def rules(client: str, queue: str, name: str, table: str = "hr.t", **more: Any) -> dict[str, Any]:
    of = {"streams_type": client, "streams_name": name, "queue_name": queue, "dml_rule_name": f"of_{name}"}
    return {"add_table_rules": {"table_name": table, **of, **more}}


PASSED = {"source_queue_name": OWNED, "destination_queue_name": "q2", "streams_name": "prop"}
CALLS = (
    rules("capture", OWNED, "cap"),
    function("of_cap"),
    {
        "add_table_propagation_rules": {
            "table_name": "hr.t", "dml_rule_name": "of_prop", "source_database": "dbs1", **PASSED,
        }
    },
    function("of_prop"),
    rules("apply", "q2", "app", source_database="dbs1"),
    function("of_app"),
    rules("sync_capture", "q3", "sync", "hr.u"),
    function("of_sync", "who"),
    rules("dequeue", "q3", "deq", "hr.u", source_database="dbs1"),
    function("of_deq"),
)  # fmt: skip
"""A capture process, a propagation and an apply process on hr.t; triggers and a messaging client on hr.u."""


@dataclass
class Users:
    """Roles of the two servers, and URLs that connect as them."""

    source: str
    target: str
    capturing: str
    applying: str


@pytest.fixture
def users(databases: Databases) -> Iterator[Users]:
    suffix = databases.source[-8:]
    names = [f"capturer_{suffix}", f"applier_{suffix}"]
    for name in names:
        run(databases.source, f"CREATE ROLE {name} SUPERUSER LOGIN PASSWORD 'x'")

    def of(url: str, name: str) -> str:
        found = urlsplit(url)
        return found._replace(netloc=f"{name}:x@{found.netloc.rpartition('@')[2]}").geturl()

    CONTEXTS.clear()
    yield Users(of(databases.source, names[0]), of(databases.target, names[1]), *names)
    run(databases.target, f"REASSIGN OWNED BY {names[1]} TO CURRENT_USER", f"DROP OWNED BY {names[1]}")
    run(databases.source, *(f"REASSIGN OWNED BY {name} TO CURRENT_USER" for name in names),
        *(f"DROP OWNED BY {name}" for name in names), *(f"DROP ROLE {name}" for name in names))  # fmt: skip


def channel_of(users: Users, folder: Path) -> StreamsChannel:
    target = {"name": "site", "location": users.target, "apply": "app"}
    channel = streams_channel(folder, users.source, *CALLS, functions=LISTED, targets=[target])
    channel.at_source(
        *BATTERY_TABLES,
        "CREATE SCHEMA etl",
        "CREATE TABLE etl.callers (caller jsonb, by text)",
        "CREATE FUNCTION etl.who(lcr jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$ BEGIN INSERT INTO etl.callers VALUES"
        " (current_setting('ddlrepl.caller')::jsonb, current_user); RETURN lcr; END $$",
    )
    channel.activate(load=True)
    return channel


@pytest.mark.req("ST-X-39", "ST-X-45")
def test_each_of_five_clients_calls_functions_as_its_own_user(users: Users, tmp_path: Path) -> None:
    """Capture user, owner of the source queue, apply user, and who dequeues; each step of the capture is recorded."""
    channel = channel_of(users, tmp_path)
    channel.at_source("INSERT INTO hr.t VALUES (1, 1, 'one')", "INSERT INTO hr.u VALUES (1, 1)")
    CONTEXTS.clear()
    done = channel.stage(flow.replicate)
    assert [CallContext("cap", ClientKind.CAPTURE, users.capturing),
            CallContext("prop", ClientKind.PROPAGATION, "strmadmin"),
            CallContext("app", ClientKind.APPLY, users.applying)] == CONTEXTS  # fmt: skip
    assert [(use.client, use.user) for use in done.functions] == [
        ("cap", users.capturing), ("prop", "strmadmin"), ("app", users.applying)
    ]  # fmt: skip
    caller = {"client": "sync", "kind": "sync_capture", "user": users.capturing}
    assert ask(users.source, "SELECT caller, by FROM etl.callers") == [(caller, users.capturing)]
    CONTEXTS.clear()
    with channel.opened() as context:
        assert len(dequeue(context, "deq", browse=True).messages) == 1
    with RunContext(context.channel, InProcess(), user="ann") as context:
        taken = dequeue(context, "deq")
    assert [(use.user, use.calls, use.unchanged) for use in taken.functions] == [("ann", 1, 1)]
    assert len(taken.messages) == 1
    assert [CallContext("deq", ClientKind.DEQUEUE, user) for user in (getpass.getuser(), "ann")] == CONTEXTS


@pytest.mark.req("ST-X-45")
def test_each_step_of_a_capture_is_recorded_with_its_user(users: Users, tmp_path: Path) -> None:
    """The log is read over a connection of the capture user; the segment says so, and so does the run."""
    channel = channel_of(users, tmp_path)
    hidden = {"rule_name": "of_cap", "table_name": "hr.t", "column_name": "note"}
    channel.change(calls=[*CALLS, {"delete_column": hidden}])
    channel.at_source("INSERT INTO hr.t VALUES (1, 1, 'one')")
    steps = dict.fromkeys(["read", "format", "transform", "call asks", "enqueue"], users.capturing)
    captured = channel.stage(flow.capture)
    assert (dict(captured.steps), list(captured.steps)) == (steps, list(steps))
    with channel.opened() as context:
        (segment,) = (one for one in context.trail.segments(context.epoch) if one.rows)
        assert [dict(part.steps) for part in segment.parts if part.steps] == [steps]
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)")
    text = channel.stage(flow.replicate).text()
    assert f"steps of the capture process: read as {users.capturing}, format as {users.capturing}, " in text


def test_nobody_calls_a_function_that_no_client_calls() -> None:
    with pytest.raises(LookupError, match="no client is calling a custom function"):
        call_context()


def test_a_run_that_captures_nothing_has_no_steps(users: Users, tmp_path: Path) -> None:
    channel = channel_of(users, tmp_path)
    channel.at_source("INSERT INTO oe.o VALUES (1)")
    assert "call asks" not in channel.stage(flow.capture).steps
    assert channel.stage(sync_capture).rows == {"sync": 0}
