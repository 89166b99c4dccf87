"""A REST server may want a token: a channel logs in as a client of OAuth2, or has one, and tells nobody its secret."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from airflow_ddlrepl.engines.lake.engine import ENGINE
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.guard import CLIENT, SCOPE, SECRET, Guard, guarded
from tests.support.lakes.rest import Rest
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(600)]
ORDERS = TableName("public", "orders")
LOGIN = f"credential={quote(f'{CLIENT}:{SECRET}')}&scope={SCOPE}"


@pytest.fixture
def guard(rest: Rest) -> Iterator[Guard]:
    with guarded(rest.port) as found:
        yield found


def place(folder: Path, guard: Guard, login: str) -> str:
    """The location of a lake behind the guard."""
    return f"iceberg://{folder}/state.db?warehouse={folder}/wh&catalog=rest&uri={guard.uri}&{login}"


@pytest.mark.usefixtures("lake_spark")
def test_a_token_that_lapses_in_the_middle_of_a_run_is_renewed(
    databases: Databases, tmp_path: Path, rest: Rest, guard: Guard, caplog: pytest.LogCaptureFixture
) -> None:
    there = place(tmp_path, guard, LOGIN)
    replica = Replica(databases.source, "", channel_file(tmp_path, databases.source, there))
    replica.at_source("create table orders (id int primary key)", "insert into orders values (1)")
    with caplog.at_level(logging.DEBUG):
        replica.activate()
        for number, at in enumerate(("transactions/commit", "/register", "/tables/orders", "/namespaces"), 1):
            before = guard.given
            guard.lapses = at
            replica.at_source(
                f"insert into orders values ({number}0)",
                f"create table t{number} (id int primary key)",
                f"insert into t{number} values (1)",
            )
            replica.settle()
            assert (guard.lapses, guard.given) == ("", before + 1), f"the token did not lapse at {at}"
    assert len(rest.read(ORDERS)) == 5 and len(rest.read(TableName("public", "t4"))) == 1
    assert not guard.vended, "credentials are asked for that nobody uses"
    secrets = (SECRET, quote(SECRET), quote(SECRET, safe=""), *guard.tokens)
    assert not [one for one in secrets if one in caplog.text]
    replica.check_equal()

    guard.tokens.clear()
    guard.is_closed = True
    replica.at_source("insert into orders values (60)")
    with pytest.raises(DdlReplError) as raised:
        replica.replicate()
    assert raised.value.code == "CON-102" and SECRET not in str(raised.value)
    guard.is_closed = False
    replica.settle()
    assert len(rest.read(ORDERS)) == 6


def test_who_is_let_in(tmp_path: Path, guard: Guard) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for login in (LOGIN, f"{LOGIN}&oauth2_uri={guard.uri}/v1/oauth/tokens", f"rest_token={guard.give()}"):
            assert "can be opened" in ENGINE.target_rights(place(tmp_path, guard, login))[0]


@pytest.mark.parametrize(
    ("login", "secret"),
    [
        (f"credential={CLIENT}:of%2Fyesterday&scope={SCOPE}", "of/yesterday"),
        ("rest_token=of-yesterday", "of-yesterday"),
        (f"credential={quote(f'{CLIENT}:{SECRET}')}", SECRET),
    ],
    ids=["secret", "token", "scope"],
)
def test_who_is_not_let_in_is_told_without_the_secret(tmp_path: Path, guard: Guard, login: str, secret: str) -> None:
    with pytest.raises(DdlReplError, match="refuses the login") as raised:
        ENGINE.target_rights(place(tmp_path, guard, login))
    assert (raised.value.code, raised.value.retryable) == ("CON-102", False)
    assert secret not in str(raised.value) and quote(secret, safe="") not in str(raised.value)


def test_an_answer_that_is_none_of_the_protocol(tmp_path: Path, guard: Guard) -> None:
    """A server that gives tokens may say anything."""
    elsewhere = f"{LOGIN}&oauth2_uri=http://127.0.0.1:1/tokens"
    with pytest.raises(DdlReplError) as raised:
        ENGINE.target_rights(place(tmp_path, guard, elsewhere))
    assert (raised.value.code, raised.value.retryable) == ("CON-124", True) and SECRET not in str(raised.value)
