"""A channel that an earlier version has made goes on: nothing is lost, nothing loaded, and our objects are renewed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.source.helper_schema import find_helper
from tests.flow.upgrades.stored_state import laid_down
from tests.support.replica import Replica

STATES = sorted(folder for folder in Path(__file__).with_name("states").iterdir() if folder.is_dir())
WRITERS = "select id, xmin::text from orders where id < 100 order by id"
NEXT = (
    "insert into orders (id, note) values (300, 'of the new version')",
    "alter table orders add column later int default 3",
    "insert into log values ('new', 2)",
    "create table fresh (id int primary key)",
    "insert into fresh values (1)",
)


@pytest.fixture(params=[18, 15], ids=["pg18", "pg15"])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=STATES, ids=[folder.name for folder in STATES])
def replica(private_server: Any, request: pytest.FixtureRequest, tmp_path: Path, version: int) -> Iterator[Replica]:
    with laid_down(request.param, tmp_path, version) as found:
        yield found


def is_current(replica: Replica) -> bool:
    with psycopg.connect(replica.source, autocommit=True) as connection:
        return find_helper(connection).is_current


def test_a_cycle_goes_on(replica: Replica) -> None:
    """What the earlier version has captured, and what was written while the product was replaced."""
    before = replica.rows(WRITERS)
    replica.at_source(*NEXT)
    assert replica.replicate().refresh.tables.keys() <= {"public.fresh"}
    replica.check_equal()
    assert replica.rows("select later, note from orders where id = 200") == [(3, "captured")]
    assert replica.rows(WRITERS)[4:] == before[4:], "its rows were not loaded again"
    replica.at_source("alter table orders rename note to remark", "update orders set remark = 'z' where id = 5")
    replica.settle()


def test_an_activation_renews_what_is_at_the_source(replica: Replica) -> None:
    assert not is_current(replica)
    before = replica.rows(WRITERS)
    found = replica.activate()
    assert is_current(replica) and found.refreshed == {}
    result = replica.replicate()
    assert result.refresh.tables == {} and result.capture.discarded == {}, result
    replica.check_equal()
    assert replica.rows(WRITERS)[4:] == before[4:]
    replica.at_source(*NEXT)
    replica.settle()
    assert replica.settle().refresh.tables == {}
