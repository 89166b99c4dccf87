"""Servers that let nobody in, for whatever reason: the error says which, why, and what to do there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.errors import DdlReplError
from tests.conftest import Databases
from tests.flow.restore.put_back import TABLE
from tests.support.replica import Replica, channel_file, run

ROLE_BACK = "alter role limited login connection limit -1 valid until 'infinity'"


@pytest.fixture(scope="module", params=[18, 15], ids=["pg18", "pg15"])
def server(private_server: type[PrivateServer], request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    with private_server("source", request.param) as made:
        made.create_role("limited", "LOGIN")
        yield made


@pytest.fixture
def replica(server: PrivateServer, tmp_path: Path) -> Iterator[Replica]:
    databases = Databases(server)
    name = databases.target.rpartition("/")[2]
    run(databases.source, f"grant create on database {name} to limited")
    run(databases.target, "grant create on schema public to limited")
    target = server.dsn(name, "limited")
    made = Replica(databases.source, target, channel_file(tmp_path, databases.source, target))
    made.at_source(*TABLE)
    made.activate()
    made.settle()
    yield made
    run(server.dsn(), ROLE_BACK)
    databases.drop()


REASONS = {
    "connections of the role": ("alter role limited connection limit 0", "CON-106", "CONNECTION LIMIT"),
    "connections of the database": ("alter database {} connection limit 0", "CON-106", "CONNECTION LIMIT"),
    "no login": ("alter role limited nologin", "CON-102", "LOGIN"),
    "expired": ("alter role limited valid until '2001-01-01'", "CON-102", "expired"),
    "no right to connect": ("revoke connect on database {} from public", "CON-102", "CONNECT"),
    "closed": ("alter database {} allow_connections off", "CON-101", "ALLOW_CONNECTIONS"),
    "renamed": ("alter database {0} rename to {0}_other", "CON-103", "name in the location"),
}
BACK = {
    "closed": "alter database {} allow_connections on",
    "renamed": "alter database {0}_other rename to {0}",
    "no right to connect": "grant connect on database {} to public",
    "connections of the database": "alter database {} connection limit -1",
}


@pytest.mark.parametrize("reason", REASONS)
def test_a_server_that_lets_nobody_in(server: PrivateServer, replica: Replica, reason: str) -> None:
    change, code, hint = REASONS[reason]
    name = replica.target.rpartition("/")[2]
    run(server.dsn(), "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'limited'")
    run(server.dsn(), change.format(name))
    replica.at_source("insert into t values (2, 'b')")
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    error = caught.value
    assert error.code == code and hint in error.hint, str(error)
    assert f"/{name}" in error.message and server.password not in str(error)
    run(
        server.dsn(),
        BACK.get(reason, "alter role limited login connection limit -1 valid until 'infinity'").format(name),
    )
    replica.settle()


def test_a_server_without_encryption(server: PrivateServer, replica: Replica) -> None:
    shutil.copy(replica.file, replica.file.with_suffix(".kept"))
    text = replica.file.read_text()
    replica.file.write_text(text.replace(replica.target, f"{replica.target}?sslmode=require"))
    with pytest.raises(DdlReplError, match="CON-107") as caught:
        replica.replicate()
    assert "sslmode" in caught.value.hint
    replica.file.write_text(text)
    replica.settle()
