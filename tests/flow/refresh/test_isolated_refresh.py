"""A refresh with -inow: capture, and the other tables' changes, go on meanwhile; the table's own come after it."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError, LockHeld
from airflow_ddlrepl.flow.admin import isolated_refresh
from airflow_ddlrepl.flow.refresh import table_loader
from airflow_ddlrepl.notation.refresh_options import read_options
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Make, Replica

START = (
    "CREATE TABLE a (id int PRIMARY KEY, v text)",
    "CREATE TABLE b (id int PRIMARY KEY, v text)",
    "INSERT INTO a SELECT i, 'a' FROM generate_series(1, 50) i",
    "INSERT INTO b VALUES (1, 'b')",
)


def refresh(replica: Replica, options: str = "-inow", *tables: str) -> Any:
    with flow.open_channel(replica.file, InProcess()) as run:
        return flow.refresh_isolated(run, tables, read_options(options))


def meanwhile(monkeypatch: pytest.MonkeyPatch, point: str, work: Any) -> None:
    """Do this work when the refresh comes to a point of it, once."""
    todo = [work]

    def reach(here: str) -> None:
        if here == point and todo:
            todo.pop()()

    monkeypatch.setattr(isolated_refresh, "reach", reach)


@pytest.mark.req("HVR-P-80", "HVR-P-81", "HVR-P-82")
@pytest.mark.parametrize("options", ["-inow", "-gr -inow"])
@pytest.mark.parametrize("point", ["isolated.snapshot", "isolated.loaded"])
def test_others_go_on_and_its_own_changes_follow(
    make: Make, monkeypatch: pytest.MonkeyPatch, point: str, options: str
) -> None:
    replica = make(*START)
    replica.at_target("DELETE FROM a WHERE id = 7")

    def others_work() -> None:
        replica.at_source(
            "UPDATE a SET v = 'later' WHERE id < 10",
            "INSERT INTO a VALUES (51, 'new')",
            "DELETE FROM a WHERE id = 50",
            "ALTER TABLE b RENAME v TO u",
            "INSERT INTO b VALUES (2, 'meanwhile')",
        )
        before = replica.capture()
        assert before.rows
        replica.replicate()
        assert replica.rows("SELECT id, u FROM b ORDER BY 1") == [(1, "b"), (2, "meanwhile")]
        assert replica.rows("SELECT count(*) FROM a WHERE v = 'later'") == [(0,)]
        with pytest.raises(LockHeld):
            refresh(replica, "-inow", "public.a")

    replica.at_source("UPDATE a SET v = 'sooner' WHERE id = 20")
    meanwhile(monkeypatch, point, others_work)
    assert refresh(replica, options, "public.a").tables.keys() == {"public.a"}
    replica.at_source("ALTER TABLE a ADD w int DEFAULT 5")
    replica.settle()
    assert replica.rows("SELECT count(*), sum(w) FROM a") == [(50, 250)]


def test_a_refresh_that_was_killed_begins_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = make(*START)
    replica.at_target("DELETE FROM a WHERE id = 7")

    def die() -> None:
        raise KeyboardInterrupt

    meanwhile(monkeypatch, "isolated.loaded", die)
    with pytest.raises(KeyboardInterrupt):
        refresh(replica, "-inow", "public.a")
    replica.at_source("INSERT INTO a VALUES (51, 'x')", "INSERT INTO b VALUES (51, 'x')")
    replica.settle()  # nobody loads it beside the cycle any more, so the cycle does
    left = "SELECT count(*) FROM pg_class WHERE relnamespace = 'ddlrepl'::regnamespace AND relname ~ '^i_'"
    refresh(replica, "-inow", "public.b")
    assert replica.rows(left) == [(0,)]
    replica.settle()


def test_a_table_that_another_refresh_has_loaded_meanwhile(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = make(*START)
    meanwhile(monkeypatch, "isolated.loaded", lambda: replica.refresh("public.a"))
    with pytest.raises(DdlReplError, match="not isolated any more") as caught:
        refresh(replica, "-inow", "public.a")
    assert caught.value.code == "REF-101"
    replica.settle()


@pytest.mark.req("HVR-P-80", "HVR-P-82")
def test_the_actions_say_so_for_a_refresh_that_a_change_implies(make: Make) -> None:
    action = {"add_table_pattern": "*", "refresh_options": "-inow"}
    replica = make(*START, adapt_ddl=[action])
    replica.at_source(
        "ALTER TABLE a ALTER v TYPE int USING length(v)",
        "INSERT INTO a VALUES (51, 7)",
        "INSERT INTO b VALUES (2, 'b')",
    )
    result = replica.replicate()
    assert result.refresh.tables == {} and replica.rows("SELECT count(*) FROM b") == [(2,)]
    replica.at_source("UPDATE a SET v = 8 WHERE id = 51")
    replica.replicate()
    with flow.open_channel(replica.file, InProcess()) as run:
        assert flow.has_isolated(run)
        assert flow.refresh_isolated(run).tables == {"public.a": 51}
        assert not flow.has_isolated(run)
    replica.settle()


@pytest.mark.req("HVR-P-85")
def test_without_it_all_changes_wait(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = make(*START)
    todo = ["refresh.loaded"]

    def reach(here: str) -> None:
        if here in todo:
            todo.remove(here)
            replica.at_source("INSERT INTO b VALUES (2, 'waits')")
            with pytest.raises(LockHeld):
                replica.replicate()

    monkeypatch.setattr(table_loader, "reach", reach)
    replica.refresh("public.a")
    assert not todo and replica.rows("SELECT count(*) FROM b") == [(1,)]
    replica.settle()


def test_a_table_that_is_dropped_while_it_is_isolated(make: Make) -> None:
    replica = make(*START, adapt_ddl=[{"add_table_pattern": "*", "refresh_options": "-inow"}])
    replica.at_source("ALTER TABLE a ALTER v TYPE int USING length(v)")
    replica.replicate()
    replica.at_source("DROP TABLE a")
    replica.replicate()
    with flow.open_channel(replica.file, InProcess()) as run:
        assert flow.refresh_isolated(run).tables == {}
        assert not flow.has_isolated(run)
    replica.settle()
