"""Nobody puts a message into a queue who may not, and none is about what its writer could not change by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.streams.dequeue import dequeue
from airflow_ddlrepl.flow.streams.enqueue import enqueue
from tests.conftest import Databases
from tests.flow.streams.apply_process.test_apply import begun, cycle, rules
from tests.flow.streams.streams_channel import StreamsChannel
from tests.postgres.apply_lcrs.applying import ask
from tests.support.replica import run

VICTIM = ("CREATE TABLE hr.victim (id int PRIMARY KEY, secret text)", "INSERT INTO hr.victim VALUES (1, 'one')")
GRANTS = (
    'GRANT USAGE ON SCHEMA ddlrepl TO "{0}"',
    'GRANT INSERT (message) ON ddlrepl.message TO "{0}"',
    'GRANT EXECUTE ON FUNCTION ddlrepl.enqueue(text) TO "{0}"',
)


class Mallory:
    """A role that may log in to the source, and what it is granted."""

    def __init__(self, databases: Databases) -> None:
        self.database = databases.source.rsplit("/", 1)[1]
        self.name = f"mallory_{self.database}"
        self.superuser = databases.source
        databases.server.create_role(self.name)
        self.dsn = databases.server.dsn(self.database, self.name)

    def is_granted(self, *grants: str) -> None:
        run(self.superuser, *(grant.format(self.name) for grant in grants))

    def enqueues(self, **said: Any) -> str:
        """The SQLSTATE that the server answers with; empty: it takes the message."""
        return self.does("SELECT ddlrepl.enqueue(%s)", json.dumps({"source_database": "dbs1", **said}))

    def does(self, statement: str, *values: str) -> str:
        try:
            with psycopg.connect(self.dsn, autocommit=True) as connection:
                connection.execute(statement.encode(), values or None)
        except psycopg.Error as error:
            return error.sqlstate or "?"
        return ""


@pytest.fixture
def mallory(databases: Databases) -> Iterator[Mallory]:
    found = Mallory(databases)
    yield found
    run(databases.target, f'DROP OWNED BY "{found.name}" CASCADE')
    run(databases.source, f'DROP OWNED BY "{found.name}" CASCADE', f'DROP ROLE "{found.name}"')


@pytest.fixture
def hr(databases: Databases, tmp_path: Path) -> StreamsChannel:
    found = begun(databases, tmp_path, rules("schema"))
    cycle(found, *VICTIM)
    return found


def emitted(**said: Any) -> str:
    text = json.dumps({"source_database": "dbs1", **said})
    return f"SELECT pg_logical_emit_message(true, 'ddlrepl.message', $forged${text}$forged$)"


DELETE = {"object": "hr.victim", "command": "DELETE", "old": {"id": 1, "secret": "one"}}
INSERT = {"object": "hr.victim", "command": "INSERT", "new": {"id": 2, "secret": "hers"}}
DROP = {"object": "hr.victim", "command": "DROP TABLE", "text": "DROP TABLE hr.victim"}
FUNCTION = {
    "object": "hr.f", "command": "CREATE FUNCTION",
    "text": "CREATE FUNCTION hr.f() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'",
}  # fmt: skip


def victim(databases: Databases) -> list[tuple[Any, ...]]:
    return ask(databases.target, "SELECT id, secret FROM hr.victim ORDER BY id")


def test_a_message_without_our_signature_is_not_taken(
    hr: StreamsChannel, databases: Databases, mallory: Mallory
) -> None:
    """CONNECT is enough to write anything into the log; none of it is applied, and the run says how many there were."""
    envelope = {"v": 1, "kind": "message", "writer": "postgres", "command": "DELETE", "objects": [["hr", "victim"]]}
    forged = json.dumps({**envelope, "message": json.dumps(DELETE), "xid": "1", "signature": "0" * 64})
    for one in (*(emitted(**said) for said in (DELETE, INSERT, DROP, FUNCTION)), emitted(type="own.m", fields={})):
        assert mallory.does(one) == ""
    assert mallory.does(f"SELECT pg_logical_emit_message(true, 'ddlrepl.message', $f${forged}$f$)") == ""
    assert mallory.does("SELECT pg_logical_emit_message(false, 'ddlrepl.message', 'x')") == ""
    captured = hr.stage(flow.capture)
    assert captured.discarded == {"ddlrepl.message: a message that ddlrepl.enqueue has not signed": 7}
    cycle(hr)
    assert victim(databases) == [(1, "one")]
    assert ask(databases.target, "SELECT to_regproc('hr.f')") == [(None,)]


def test_a_genuine_message_can_not_be_written_again(hr: StreamsChannel, databases: Databases, mallory: Mallory) -> None:
    with hr.opened() as context:
        enqueue(context, [{**INSERT, "source_database": "dbs1"}])
    with psycopg.connect(hr.source) as connection:
        ((message,), *_) = connection.execute(
            "SELECT data FROM pg_logical_slot_peek_binary_changes('ddlrepl_hr', NULL, NULL, 'proto_version', '1',"
            " 'publication_names', 'ddlrepl_hr', 'messages', 'true')"
            " WHERE get_byte(data, 0) = ascii('M') AND position('\\x7369676e6174757265'::bytea IN data) > 0"
        ).fetchall()
    signed = message[message.index(b'{"') :].decode()
    assert '"signature":"' in signed
    assert mallory.does(f"SELECT pg_logical_emit_message(true, 'ddlrepl.message', $f${signed}$f$)") == ""
    assert cycle(hr, "DELETE FROM hr.t").changes == {"insert": 1}
    assert victim(databases) == [(1, "one"), (2, "hers")]


def test_without_the_grants_nobody_enqueues(hr: StreamsChannel, mallory: Mallory) -> None:
    assert mallory.enqueues(type="own.m", fields={}) == "42501"
    assert mallory.does("INSERT INTO ddlrepl.message (message) VALUES ('{}')") == "42501"
    mallory.is_granted(GRANTS[0], GRANTS[2])
    assert mallory.enqueues(type="own.m", fields={}) == "42501"
    with psycopg.connect(mallory.dsn) as own, hr.opened() as context, pytest.raises(DdlReplError) as found:
        enqueue(context, [{**INSERT, "source_database": "dbs1"}], connection=own)
    assert found.value.code == "MSG-108" and "GRANT USAGE" in found.value.hint
    run(hr.source, "DROP FUNCTION ddlrepl.enqueue(text)")
    with hr.opened() as context, pytest.raises(DdlReplError) as found:
        enqueue(context, [{**INSERT, "source_database": "dbs1"}])
    assert found.value.code == "MSG-107"


def test_a_message_needs_the_rights_of_its_writer(hr: StreamsChannel, databases: Databases, mallory: Mallory) -> None:
    """An application that may enqueue changes nothing by it that it could not change by hand at the source."""
    mallory.is_granted(*GRANTS, 'GRANT USAGE ON SCHEMA hr TO "{0}"')
    for said in (INSERT, DELETE, DROP, FUNCTION, {**DROP, "object": "hr.nothing"}, {**INSERT, "object": "hr.nothing"}):
        assert mallory.enqueues(**said) == "42501", said
    for odd in ({**INSERT, "object": "hr"}, {**INSERT, "object": ["hr", None]}, {**INSERT, "object": "a.b.c"}):
        assert mallory.enqueues(**odd) in ("22023", "42501")
    mallory.is_granted('GRANT INSERT ON hr.victim TO "{0}"')
    assert mallory.enqueues(**INSERT) == ""
    assert mallory.enqueues(**{**INSERT, "object": ["hr", "victim"], "new": {"id": 3, "secret": "x"}}) == ""
    for said in (DELETE, {**INSERT, "object": '"HR".victim'}, {**INSERT, "command": "insert into"}):
        assert mallory.enqueues(**said) == "42501", said
    run(hr.source, "ALTER TABLE hr.victim ENABLE ROW LEVEL SECURITY")
    assert mallory.enqueues(**INSERT) == "42501", "policies may hide rows from her"
    cycle(hr)
    assert victim(databases) == [(1, "one"), (2, "hers"), (3, "x")]


def test_nobody_writes_in_another_s_name(hr: StreamsChannel, databases: Databases, mallory: Mallory) -> None:
    """Neither by the column that has the writer, nor by a function of hers that a superuser calls."""
    mallory.is_granted(*GRANTS, 'GRANT USAGE, CREATE ON SCHEMA oe TO "{0}"')
    text = json.dumps({"source_database": "dbs1", **INSERT})
    assert mallory.does(f"INSERT INTO ddlrepl.message VALUES ('{text}', 'postgres')") == "42501"
    assert mallory.does(f"INSERT INTO ddlrepl.message (message, writer) VALUES ('{text}', 'postgres')") == "42501"
    assert mallory.does("INSERT INTO ddlrepl.message (message) VALUES ('{}') RETURNING writer") == "42501"
    trap = "CREATE FUNCTION oe.trap() RETURNS void LANGUAGE sql SECURITY DEFINER AS"
    assert mallory.does(f"{trap} $$SELECT ddlrepl.enqueue('{text}')$$") == ""
    with psycopg.connect(hr.source) as superuser, pytest.raises(psycopg.errors.InsufficientPrivilege):
        superuser.execute("SELECT oe.trap()")
    assert mallory.does("SET ddlrepl.writer = 'postgres'") == "" and mallory.enqueues(**DELETE) == "42501"
    assert mallory.does("CREATE TEMP TABLE message (message text); SELECT ddlrepl.enqueue('{}')") != ""
    cycle(hr)
    assert victim(databases) == [(1, "one")]


def test_a_reader_of_another_mind_takes_nothing(hr: StreamsChannel, databases: Databases, mallory: Mallory) -> None:
    """What the server checks and what the reader reads is the same object, or the message is dropped."""
    mallory.is_granted(*GRANTS, 'GRANT USAGE, CREATE ON SCHEMA hr TO "{0}"')
    assert mallory.does("CREATE TABLE hr.own (id int PRIMARY KEY, secret text)") == ""
    own = json.dumps({"source_database": "dbs1", **INSERT, "object": "hr.own"})
    victims = own[:-1] + ', "object": "hr.victim"}'
    assert mallory.does("SELECT ddlrepl.enqueue(%s)", victims) == "42501", "the last one of two counts"
    for name in ('"object ": "hr.victim"', '"OBJECT": "hr.victim"', '"\\u006fbject": "hr.victim"'):
        mallory.does("SELECT ddlrepl.enqueue(%s)", own[:-1] + f", {name}}}")
    mallory.does("SELECT ddlrepl.enqueue(%s)", own.replace('"hr.own"', '"hr.ow\\u006e"'))
    mallory.does("SELECT ddlrepl.enqueue(%s)", own.replace('"INSERT"', '"\\u00a0DELETE"'))
    cycle(hr)
    assert victim(databases) == [(1, "one")]


def test_a_messaging_client_gets_no_forged_message(hr: StreamsChannel, mallory: Mallory) -> None:
    takes = {"streams_type": "dequeue", "streams_name": "app", "queue_name": "q1", "source_database": "dbs1"}
    hr.change(calls=[*_calls(hr), {"add_global_rules": {**takes, "include_dml": True, "include_ddl": True}}])
    for said in (DELETE, DROP, {"type": "own.m", "fields": {}}):
        assert mallory.does(emitted(**said)) == ""
    hr.stage(flow.capture)
    found = hr.stage(dequeue, "app")
    assert (found.messages, found.discarded) == ((), {})


def _calls(channel: StreamsChannel) -> list[Any]:
    import yaml

    return list(yaml.safe_load(channel.file.read_text())["streams"]["calls"])
