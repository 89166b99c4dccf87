"""A REST server may have the catalog of a lake: a channel's windows are seen there at one moment, exactly once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.lake.catalog import publishing
from airflow_ddlrepl.engines.lake.connection.database import reading
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.engine import ENGINE
from airflow_ddlrepl.engines.lake.rest import client
from airflow_ddlrepl.engines.lake.rest.client import NO_ANSWER, Answer, RestClient
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.targets.maintenance import maintain, thresholds_for
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.lakes.rest import Rest
from tests.support.lakes.story import tell
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]
ORDERS, LOG, SUMS = (TableName("public", name) for name in ("orders", "log", "sums"))
NOTHING = Answer(NO_ANSWER, "the connection is closed")


def location(replica: Replica) -> str:
    """The location of the channel's lake."""
    (target,) = yaml.safe_load(replica.file.read_text())["targets"]
    return str(target["location"])


def client_of(there: str) -> RestClient:
    """What asks the server of a lake."""
    server = location_of(there).rest
    assert server is not None
    return RestClient(server)


def replica_of(databases: Databases, folder: Path, rest: Rest, settings: str = "") -> Replica:
    """A channel whose target is a lake that the server has the catalog of."""
    location = f"iceberg://{folder}/state.db?warehouse={folder}/wh&{rest.settings()}{settings}"
    return Replica(databases.source, "", channel_file(folder, databases.source, location))


def test_a_name_that_the_server_does_not_take_is_told_by_its_table(
    databases: Databases, tmp_path: Path, rest: Rest
) -> None:
    replica = replica_of(databases, tmp_path, rest)
    replica.at_source('create table "half 50%" (id int primary key)')
    with pytest.raises(DdlReplError, match="takes no such name of a table: 400") as caught:
        replica.activate()
    assert (caught.value.code, str(caught.value.table)) == ("ADP-110", "public.half 50%")
    assert not caught.value.retryable


@pytest.mark.usefixtures("lake_spark")
def test_a_channel_runs_into_a_rest_catalog(databases: Databases, tmp_path: Path, rest: Rest) -> None:
    tell(replica_of(databases, tmp_path, rest), rest.read)


@pytest.mark.usefixtures("lake_spark")
def test_what_lakes_have_is_in_a_rest_catalog_too(databases: Databases, tmp_path: Path, rest: Rest) -> None:
    """Tables of changes, partitions, maintenance, loads of tables that are there."""
    there = f"iceberg://{tmp_path}/state.db?warehouse={tmp_path}/wh&{rest.settings()}"
    by_day = [{"tables": ["public.orders"], "by": ["bucket(4, id)"]}]
    target = {"name": "warehouse", "location": there, "history": "both", "partitions": by_day}
    replica = Replica(databases.source, "", channel_file(tmp_path, databases.source, there, targets=[target]))
    replica.at_source(
        "create table orders (id int primary key, note text)",
        "alter table orders replica identity full",
        "insert into orders select i, 'order ' || i from generate_series(1, 50) i",
    )
    replica.activate()
    for number in range(4):
        replica.at_source(
            f"update orders set note = '{number}' where id % 3 = {number}",
            f"alter table orders add c{number} int default {number}",
        )
        replica.settle()
    changes = rest.read(TableName("public", "orders_changelog"))
    assert sum(row["_operation"] == "update" for row in changes) == 50
    with flow.open_channel(replica.file, InProcess()) as run:
        done = maintain(run, thresholds_for(run.channel, "0s", "2", "1"))
    assert done.tables["warehouse public.orders"]["rewritten"] > done.tables["warehouse public.orders"]["written"]
    assert snapshots(rest, ORDERS) == 1, "snapshots expire at the server, too"
    replica.check_equal()
    replica.at_source("delete from orders where id < 10", "alter table orders drop column c1")
    replica.settle()
    replica.refresh("public.orders")
    replica.settle()
    assert len(rest.read(ORDERS)) == 41 and rest.catalog().load_table(tuple(ORDERS)).spec().fields


class Killed(BaseException):
    """What ends a run where it stands: nothing of it is done any more."""


class Stopping:
    """Fail points at which runs of this process end. points: in the order in which runs end there."""

    def __init__(self, *points: str) -> None:
        self.points = [*points]

    def __call__(self, point: str) -> None:
        if self.points and self.points[0] == point:
            self.points.pop(0)
            raise Killed


SHOP = (
    "create table orders (id int primary key, amount int)",
    "insert into orders select i, 0 from generate_series(1, 20) i",
    "create table sums (id int primary key, total int)",
    "insert into sums values (1, 0)",
)
WORK = (
    "begin; update orders set amount = amount + 1 where id < 11; update sums set total = total + 10;"
    " insert into orders select max(id) + 1, 0 from orders; commit"
)


def snapshots(rest: Rest, name: TableName) -> int:
    """How many snapshots a table has: none is expired."""
    return len(rest.catalog().load_table(tuple(name)).metadata.snapshots)


@pytest.mark.usefixtures("lake_spark")
@pytest.mark.req("XR-09")
def test_a_window_is_published_exactly_once(
    databases: Databases, tmp_path: Path, rest: Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the request, after it, and after the renames; asked again late; without an answer."""
    replica = replica_of(databases, tmp_path, rest)
    replica.at_source(*SHOP)
    replica.activate()
    stops = Stopping()
    monkeypatch.setattr(publishing, "reach", stops)
    for point in ("lake.intent", "lake.published", "lake.renamed"):
        before = snapshots(rest, ORDERS)
        replica.at_source(WORK)
        stops.points = [point]
        with pytest.raises(Killed):
            replica.replicate()
        assert (snapshots(rest, ORDERS) == before) == (point == "lake.intent")
        replica.settle()
        assert snapshots(rest, ORDERS) == before + 1, f"the window was written twice after {point}"
    asked = list[Any]()
    commit = RestClient.commit

    def late(self: RestClient, changes: Any) -> Answer:
        asked.append(changes)
        raise Killed

    replica.at_source(WORK)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(RestClient, "commit", late)
        replica.replicate()
    late_one, (changes,) = client_of(location(replica)), asked
    replica.settle()
    seen = rest.pointers()
    assert commit(late_one, changes).status == 409 and rest.pointers() == seen, "a request of a killed run came late"

    def unanswered(self: RestClient, changes: Any) -> Answer:
        commit(self, changes)
        return NOTHING

    def twice(self: RestClient, changes: Any) -> Answer:
        commit(self, changes)
        return commit(self, changes)

    def never(self: RestClient, changes: Any) -> Answer:
        return NOTHING

    before = snapshots(rest, ORDERS)
    for ask in (unanswered, twice, never):
        replica.at_source(WORK)
        with monkeypatch.context() as patched:
            patched.setattr(RestClient, "commit", ask)
            if ask is not never:
                replica.replicate()
            else:  # nor does the server say whether it takes what would make sure that it has not
                with pytest.raises(DdlReplError) as raised:
                    replica.replicate()
                assert (raised.value.code, raised.value.retryable) == ("CON-124", True)
        replica.settle()
    assert snapshots(rest, ORDERS) == before + 3
    replica.check_equal()


@pytest.mark.usefixtures("lake_spark")
def test_others_that_write_meanwhile_lose_nothing(
    databases: Databases, tmp_path: Path, rest: Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = replica_of(databases, tmp_path, rest)
    replica.at_source(*SHOP)
    replica.activate()
    there, commit = location(replica), RestClient.commit
    done = list[str]()

    def once(what: str, do: Callable[[], object]) -> None:
        if what not in done:
            done.append(what)
            do()

    def write() -> None:
        rest.somebody().sql("INSERT INTO lake.public.sums VALUES (9, 9)")

    def after_somebody(self: RestClient, changes: Any) -> Answer:
        once("rows of somebody else", write)
        return commit(self, changes)

    def after_another_run(point: str) -> None:
        if point == "lake.intent":
            once("a run that takes this one for killed", lambda: publishing.end_open_intent(there, channel(there)))

    replica.at_source(WORK)
    with monkeypatch.context() as patched:
        patched.setattr(RestClient, "commit", after_somebody)
        replica.replicate()
    assert [row["id"] for row in rest.read(SUMS)] == ["1", "9"]
    replica.at_source(WORK)
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "reach", after_another_run)
        replica.replicate()
    assert len(done) == 2 and [row["total"] for row in rest.read(SUMS)] == ["20", "9"]
    rest.somebody().sql("DELETE FROM lake.public.sums WHERE id = 9")
    replica.check_equal()

    with rest.stopped(), pytest.raises(DdlReplError) as raised:
        replica.at_source(WORK)
        replica.replicate()
    assert (raised.value.code, raised.value.retryable) == ("CON-124", True)
    replica.settle()
    replica.check_equal()


def channel(there: str) -> str:
    """What tells the channel's intents from others."""
    with reading(there) as connection:
        return str(connection.exec_driver_sql("SELECT channel FROM ddlrepl_intents").scalar())


def test_a_server_that_changes_one_table_at_a_time_is_refused(
    tmp_path: Path, rest: Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = f"iceberg://{tmp_path}/state.db?{rest.settings()}"
    assert "can be opened" in ENGINE.target_rights(there)[0]
    endpoints = client._catalog(client_of(there).server)._supported_endpoints
    less = {one for one in endpoints if "transactions" not in one.path}
    monkeypatch.setattr(client._catalog(client_of(there).server), "_supported_endpoints", less)
    with pytest.raises(DdlReplError, match="no endpoint transactions/commit") as raised:
        ENGINE.target_rights(there)
    assert raised.value.code == "TGT-116"
    with pytest.raises(DdlReplError) as raised:
        ENGINE.target_rights(there.replace(str(rest.port), "1"))
    assert (raised.value.code, raised.value.retryable) == ("CON-124", True)
