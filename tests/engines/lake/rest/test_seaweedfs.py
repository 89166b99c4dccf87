"""SeaweedFS as another REST server: a channel logs in by OAuth2 and by SigV4, and is told what the server lacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.engine import ENGINE
from airflow_ddlrepl.engines.lake.rest.client import RestClient
from airflow_ddlrepl.engines.lake.rest.marks import Marks, new_mark
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.weed import CATALOG, KEY, SECRET, Weed, weed
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(600)]
SIGNED = "signing_name=s3tables&signing_region=us-east-1"
CLIENT = f"credential={quote(f'{KEY}:{SECRET}', safe='')}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weed]:
    with weed(tmp_path_factory.mktemp("weed") / "data") as found:
        yield found


@pytest.mark.parametrize("login", [SIGNED, CLIENT], ids=["signed", "oauth2"])
def test_windows_are_marked_there(tmp_path: Path, server: Weed, login: str) -> None:
    location = f"iceberg://{tmp_path}/state.db?{server.settings(login)}"
    assert "can be opened" in ENGINE.target_rights(location)[0]
    place = location_of(location)
    assert place.rest is not None
    client = RestClient(place.rest)
    marks, mark = Marks(client, place), new_mark()
    late = marks.adding(marks.now(), new_mark(), "late")
    assert client.commit([marks.adding(marks.now(), mark, "first")]).is_good
    assert client.commit([late]).status == 409 and marks.decide(mark)
    never = marks.adding(marks.now(), new_mark(), "never")
    assert not marks.decide(never["updates"][0]["snapshot"]["snapshot-id"])
    assert client.commit([never]).status == 409
    with pytest.raises(DdlReplError) as raised:
        client.table(TableName("public", "ünï"))
    assert raised.value.code == "ADP-110"
    wrong = location.replace(quote(SECRET, safe=""), "of-yesterday").replace(SECRET.replace("+", "%2B"), "of-yesterday")
    refused = location_of(wrong).rest
    assert refused is not None
    with pytest.raises(DdlReplError, match="refuses the login") as raised:
        RestClient(refused).namespaces()
    assert raised.value.code == "CON-102" and "of-yesterday" not in str(raised.value)


@pytest.mark.usefixtures("lake_spark")
def test_a_warehouse_in_which_the_server_takes_no_tables_is_refused(
    databases: Databases, tmp_path: Path, server: Weed
) -> None:
    """Its catalog takes tables in a bucket of its own alone, in which it lets nobody write files of windows."""
    location = f"iceberg://{tmp_path}/state.db?{server.settings(SIGNED)}"
    replica = Replica(databases.source, "", channel_file(tmp_path, databases.source, location))
    replica.at_source("create table orders (id int primary key)", "insert into orders values (1)")
    for _ in range(2):
        with pytest.raises(DdlReplError, match=f"within bucket {CATALOG}") as raised:
            replica.activate()
        assert (raised.value.code, raised.value.retryable) == ("TGT-116", False)
    inside = f"iceberg://{tmp_path}/state.db?{server.settings(SIGNED, f's3://{CATALOG}')}"
    with pytest.raises(DdlReplError) as raised:
        ENGINE.target_rights(inside)
    assert raised.value.code == "CON-123"
