"""A server that pg_upgrade brings from 15 to 18 has lost its slot; the channel goes on all the same, without a load."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.doctor import run_doctor
from airflow_ddlrepl.errors import RepositoryError
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.restore.put_back import Places, places, refused
from tests.flow.restore.upgrading import upgrade
from tests.support.refusing import ask
from tests.support.replica import run


@pytest.fixture
def there(private_server: Any, tmp_path: Path) -> Iterator[Places]:
    with places(tmp_path, 15) as made:
        yield made


def upgraded(there: Places) -> None:
    """The last cycle, then the upgrade; everything that the channel says then names the act that helps."""
    replica = there.replica
    replica.at_source("insert into t select i, 'x' from generate_series(10, 200) i")
    replica.settle()
    replica.replicate()
    run(replica.target, "create table loaded as select xmin::text as x, id from t")
    upgrade(there.source)
    assert ask(replica.source, "select count(*) from pg_replication_slots") == [(0,)]
    assert ask(replica.source, "show server_version_num")[0][0] >= "180000"


def test_a_server_without_its_slot_goes_on(there: Places) -> None:
    replica = there.replica
    upgraded(there)
    assert "--accept server" in refused(replica, "REP-107").hint
    with pytest.raises(RepositoryError, match="REP-107"):
        replica.activate()
    with flow.open_channel(replica.file, InProcess()) as cycle:
        assert "slot ddlrepl_shop is missing" in (text := flow.status(cycle).text()) and "--accept server" in text
    problems = [one for one in run_doctor(load_channel(replica.file)) if not one.ok]
    assert ["--accept server" in one.fix for one in problems] == [True], problems
    assert replica.activate(accept="server").refreshed == {}, "no table was loaded"
    assert replica.rows("select count(*) from t join loaded using (id) where t.xmin::text = x") == [(192,)]
    replica.at_source("insert into t values (1000, 'after')", "alter table t add column n int default 7")
    replica.at_source("create table later (id int primary key)", "insert into later values (1)")
    replica.settle()
    assert replica.rows("select n from t where id = 1000") == [(7,)]
    replica.activate()
    replica.at_source("alter table t rename n to m", "delete from t where id = 1")
    replica.settle()


def test_what_was_written_before_there_was_a_slot_is_found(there: Places) -> None:
    """Rows are corrected; a table that was altered is found by inspection, one that is new joins."""
    replica = there.replica
    upgraded(there)
    replica.at_source(
        "insert into t values (5, 'in no log')",
        "delete from t where id = 1",
        "alter table t add column n int default 7",
        "create table later (id int primary key)",
        "insert into later values (1)",
    )
    refused(replica, "REP-107")
    replica.activate(accept="server")
    replica.settle()
    assert replica.rows("select id, n from t where id < 10") == [(5, 7)]
    assert replica.rows("select id from later") == [(1,)]
    replica.at_source("update t set n = 8 where id = 5", "insert into later values (2)")
    replica.settle()


def test_a_copy_from_a_dump_is_not_accepted(there: Places, private_server: Any) -> None:
    """It has the mark, too; its tables are others. The hint's way loads them."""
    replica = there.replica
    replica.at_source("create table gone (id int)", "drop table gone", "create table u (id int primary key)")
    replica.replicate()
    replica.at_source("insert into t values (7, 'late')")
    with private_server("source", 18) as other:
        copy = other.create_database("shop")
        run(copy, "create table first (id int)")
        programs = other._programs
        dump = [str(programs / "pg_dump"), "-d", replica.source]
        text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
        into = [str(programs / "psql"), "-d", copy, "-v", "ON_ERROR_STOP=1", "-q"]
        subprocess.run(into, check=True, capture_output=True, text=True, input=text)
        replica.file.write_text(replica.file.read_text().replace(replica.source, copy))
        moved = type(replica)(copy, replica.target, replica.file)
        refused(moved, "REP-107")
        with pytest.raises(RepositoryError, match="REP-113") as caught:
            moved.activate(accept="server")
        assert "from a dump" in caught.value.message and "ddlrepl deactivate" in caught.value.hint
        assert ask(copy, "select count(*) from pg_replication_slots") == [(0,)], "nothing was made there"
        refused(moved, "REP-107")
        with flow.open_channel(moved.file, InProcess()) as cycle:
            flow.deactivate(cycle)
        moved.file.write_text(
            moved.file.read_text().replace("- name: warehouse", "- existing_tables: replace\n  name: warehouse")
        )
        moved.activate()
        moved.settle()
        moved.at_source("insert into t values (8, 'there')", "alter table t add n int default 7")
        moved.settle()
        assert moved.rows("select id, n from t order by id") == [(1, 7), (7, 7), (8, 7)]
