"""A cut-over: the target has all of a quiet source, the channel stops durably, and can go on again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli import main
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.doctor import servers
from airflow_ddlrepl.engines.abilities.of_target import CutsOver
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.postgres.log import slot_log
from airflow_ddlrepl.errors import CannotCutOver, ConfigError, DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.repository import Repository
from tests.support.crashing import die
from tests.support.replica import BOTH, Make, Replica

SHOP = "CREATE TABLE orders (id int PRIMARY KEY, amount int)"
ROWS = "SELECT * FROM orders ORDER BY id"
TIME = "airflow_ddlrepl.flow.cutover.cut_over.time"  # it sleeps while nobody may write


def cut_over(replica: Replica, *accepted: str) -> Any:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return flow.cut_over(cycle, accepted, compares=True)


def undo(replica: Replica) -> Any:
    return by(replica, flow.reopen)


def by(replica: Replica, stage: Callable[[Any], Any]) -> Any:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return stage(cycle)


def check(replica: Replica) -> Any:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return flow.check_cut_over(cycle)


@BOTH
def test_the_target_has_everything_and_no_run_writes_there_any_more(make: Make) -> None:
    replica = make(SHOP, "INSERT INTO orders VALUES (1, 10)")
    replica.at_source("INSERT INTO orders VALUES (2, 20)", "ALTER TABLE orders ADD note text DEFAULT 'new'")
    done = cut_over(replica)
    assert replica.rows(ROWS) == [(1, 10, "new"), (2, 20, "new")]
    assert "point the applications at warehouse" in done.text()

    replica.at_target("INSERT INTO orders VALUES (3, 30, 'by an application')")
    replica.at_source("INSERT INTO orders VALUES (3, 31, 'too late')")
    runs: list[Callable[[], Any]] = [replica.replicate, replica.activate, replica.refresh, replica.capture]
    runs += [lambda: by(replica, flow.refresh_isolated), lambda: by(replica, flow.retry)]
    for run in runs:
        with pytest.raises(CannotCutOver, match=r"CUT-101.*is cut over since .*applications use its targets"):
            run()
    assert (3, 30, "by an application") in replica.rows(ROWS)
    again = cut_over(replica)
    assert (again.position, again.since) == (done.position, done.since)
    told = check(replica)
    assert told.done and "is cut over since" in told.text() and "not as the cut-over left it" in told.text()


def test_undone_the_channel_goes_on_from_there(make: Make) -> None:
    replica = make(SHOP)
    cut_over(replica)
    replica.at_source("INSERT INTO orders VALUES (1, 10)")
    assert "goes on from" in undo(replica).text()
    replica.settle()
    assert replica.rows(ROWS) == [(1, 10)]
    with pytest.raises(CannotCutOver, match="CUT-105"):
        undo(replica)
    cut_over(replica)
    assert check(replica).is_complete


@BOTH
def test_while_somebody_writes_nothing_is_done(make: Make) -> None:
    replica = make(SHOP)
    with psycopg.connect(replica.source, application_name="shop web") as writer:
        writer.execute("INSERT INTO orders VALUES (1, 10)")
        with pytest.raises(CannotCutOver, match=r"CUT-103: somebody writes .*application 'shop web'"):
            cut_over(replica)
        assert cut_over(replica, "CUT-111").accepted == ("CUT-111",)  # a person says that it does not matter
        undo(replica)
    replica.settle()
    assert replica.rows(ROWS) == [(1, 10)]


@contextmanager
def writing(replica: Replica) -> Iterator[None]:
    """Somebody commits a row every now and then."""
    ended = threading.Event()

    def write() -> None:
        with psycopg.connect(replica.source, application_name="shop web", autocommit=True) as writer:
            while not ended.wait(0.2):
                writer.execute("INSERT INTO orders SELECT coalesce(max(id), 0) + 1, 10 FROM orders")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@BOTH
def test_short_transactions_of_somebody_are_noticed(make: Make) -> None:
    replica = make(SHOP)
    with writing(replica), pytest.raises(CannotCutOver, match=r"CUT-10[34].*'shop web'") as caught:
        cut_over(replica)
    assert caught.value.code in ("CUT-103", "CUT-104")
    replica.settle()  # the channel goes on


def test_who_writes_after_the_switch_and_before_its_end_is_noticed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = make(SHOP)
    stored = Repository.cut_over

    def late(*about: Any) -> None:
        stored(*about)
        replica.at_source("INSERT INTO orders VALUES (1, 10)")

    monkeypatch.setattr(Repository, "cut_over", late)
    with pytest.raises(CannotCutOver, match="CUT-104: somebody has written"):
        cut_over(replica)
    replica.settle()
    assert replica.rows(ROWS) == [(1, 10)]


def test_what_is_missing_is_refused_or_accepted(make: Make) -> None:
    replica = make(SHOP, "CREATE TABLE notes (id int PRIMARY KEY)")
    replica.settle()
    replica.at_target("ALTER TABLE orders ADD CONSTRAINT small CHECK (amount < 100)")
    replica.at_source("INSERT INTO orders VALUES (1, 1000)", "INSERT INTO notes VALUES (1)")
    with pytest.raises(DdlReplError, match="INT-123"):
        cut_over(replica)  # its own cycle meets the row
    with pytest.raises(CannotCutOver, match=r"CUT-102.*CUT-112 target warehouse: suspended tables: public.orders"):
        cut_over(replica)
    with pytest.raises(ConfigError, match="CUT-106"):
        cut_over(replica, "CUT-110")
    with pytest.raises(CannotCutOver, match=r"CUT-131 tables that differ.*: public.orders: the table is suspended"):
        cut_over(replica, "CUT-112")
    assert cut_over(replica, "CUT-112", "CUT-131").accepted == ("CUT-112", "CUT-131")
    assert replica.rows("SELECT * FROM notes") == [(1,)]


@pytest.mark.parametrize("point", ["sequences", "caught_up", "stopped", "marked"])
def test_killed_and_run_again_it_ends_with_both_targets(make: Make, past: str, point: str) -> None:
    replica = make(SHOP)
    add_target(replica, past)
    replica.activate()
    replica.settle()
    replica.at_source("INSERT INTO orders VALUES (1, 10)")
    die("cut_over", replica.file, f"cutover.{point}")
    if point in ("sequences", "caught_up"):
        replica.settle()  # nothing has happened yet
    else:
        with pytest.raises(CannotCutOver, match="CUT-101"):
            replica.replicate()
    assert cut_over(replica).targets == ("warehouse", "second")
    told = check(replica)
    assert told.is_complete and told.done
    assert targets_marked(replica) == {"warehouse": told.done, "second": told.done}
    assert (replica.rows(ROWS), rows(past, ROWS)) == ([(1, 10)], [(1, 10)])

    die("reopen", replica.file, "cutover.reopened")
    with pytest.raises(CannotCutOver, match="CUT-101"):
        replica.replicate()
    undo(replica)
    replica.at_source("INSERT INTO orders VALUES (2, 20)")
    replica.settle()
    assert rows(past, ROWS) == [(1, 10), (2, 20)]


def add_target(replica: Replica, location: str) -> None:
    known = yaml.safe_load(replica.file.read_text())
    known["targets"].append({"name": "second", "location": location})
    replica.file.write_text(yaml.safe_dump(known, sort_keys=False))


def targets_marked(replica: Replica) -> dict[str, Any]:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return {target.name: able(cycle.target(target.name), CutsOver).cut_over() for target in cycle.channel.targets}


def rows(dsn: str, query: str) -> list[Any]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchall()


def test_a_lost_repository_does_not_open_a_target(make: Make) -> None:
    """A new repository would load every table again, over the rows of the applications."""
    replica = make(SHOP)
    replica.at_source("INSERT INTO orders VALUES (1, 10)")
    cut_over(replica)
    text = replica.file.read_text()
    replica.file.write_text(text.replace("- name: warehouse", "- existing_tables: replace\n  name: warehouse"))
    (replica.file.parent / "repository.db").unlink()
    replica.at_target("UPDATE orders SET amount = 11")
    with pytest.raises(CannotCutOver, match=r"CUT-101.*applications use target warehouse"):
        replica.activate()
    assert replica.rows(ROWS) == [(1, 11)]
    assert "can be activated again" in undo(replica).text()
    replica.activate()
    assert replica.rows(ROWS) == [(1, 10)]


def test_the_command(make: Make, capfd: pytest.CaptureFixture[str]) -> None:
    replica = make(SHOP)

    def ddlrepl(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([arguments[0], str(replica.file), *arguments[1:]])
        out, err = capfd.readouterr()
        assert str(psycopg.conninfo.conninfo_to_dict(replica.source)["password"]) not in out + err
        return int(ended.value.code or 0), out, err

    replica.at_source("INSERT INTO orders VALUES (1, 10)")
    code, out, _ = ddlrepl("cutover", "--json")
    found = {one["code"]: one for one in json.loads(out)["conditions"] if not one["is_met"]}
    assert code == 1 and set(found) == {"CUT-110", "CUT-131"}
    code, out, _ = ddlrepl("cutover", "--compare")
    assert code == 0 and "ok       tables that differ, or of which nobody can say it: none\n" in out
    assert "is no difference (CUT-119)\n           public.orders: 1 rows\n" in out
    assert "--do     changes that are not captured (CUT-110)\n" in out and "ready: `ddlrepl cutover" in out
    assert ddlrepl("cutover", "--do", "--undo")[0] == 2
    code, out, _ = ddlrepl("cutover", "--do", "--compare")
    assert code == 0 and "point the applications at warehouse" in out
    code, _, err = ddlrepl("replicate")
    assert code == 1 and "CUT-101" in err and "--undo" in err
    code, out, _ = ddlrepl("cutover", "--undo")
    assert code == 0 and "goes on from" in out
    assert ddlrepl("replicate")[0] == 0


@pytest.mark.parametrize("databases", [15], indirect=True)  # its role may deactivate
def test_a_channel_that_is_cut_over_can_be_deactivated(make: Make) -> None:
    replica = make(SHOP, "INSERT INTO orders VALUES (1, 10)")
    cut_over(replica)
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.deactivate(cycle)
    assert replica.rows("SELECT to_regnamespace('ddlrepl')") == [(None,)]
    assert replica.rows(ROWS) == [(1, 10)]
    with pytest.raises(DdlReplError, match="orders"):
        replica.activate()  # the rows at the target are nobody's to replace


def test_status_and_doctor_say_it(make: Make) -> None:
    replica = make(SHOP)
    cut_over(replica)
    with flow.open_channel(replica.file, InProcess()) as cycle:
        found = flow.status(cycle)
        findings = [one.text() for one in servers(cycle.channel)]
    assert found.to_json()["cut_over"]["at"] == found.to_json()["targets"]["warehouse"]["position"]
    assert "cut over since " in found.text()
    assert [text for text in findings if text.startswith("ok   channel shop: cut over since ")]


def test_a_table_that_is_altered_without_triggers_during_the_cut_over_is_noticed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is in the log: the catalog shows it."""
    replica = make(SHOP, source={"ddl": "relations"})
    monkeypatch.setattr(TIME, SimpleNamespace(sleep=lambda _: replica.at_source("ALTER TABLE orders ADD note text")))
    with pytest.raises(CannotCutOver, match="CUT-104"):
        cut_over(replica)
    monkeypatch.undo()
    assert cut_over(replica).position
    assert replica.rows("SELECT note FROM orders") == []


def test_log_of_other_databases_is_nobodys_write(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = make(SHOP)
    monkeypatch.setattr(slot_log, "NEWS_PEEK_BYTES", 0)  # too much log to be looked through
    monkeypatch.setattr(TIME, SimpleNamespace(sleep=lambda _: _write_and_end(replica)))
    assert cut_over(replica).position


def _write_and_end(replica: Replica) -> None:
    """Take an id of a transaction, and wait until the server has ended the session."""
    with psycopg.connect(replica.source) as session:
        session.execute("SELECT txid_current()")
        writer = session.info.backend_pid
    with psycopg.connect(replica.source, autocommit=True) as watching:
        while watching.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [writer]).fetchone() is not None:
            pass


def test_a_task_of_airflow_fails_too(make: Make) -> None:
    """Also where it would find nothing to do."""
    replica = make(SHOP)
    cut_over(replica)
    for stage in ("capture", "integrate"):
        with pytest.raises(CannotCutOver, match="CUT-101"):
            flow.has_work(load_channel(replica.file), stage)


@pytest.mark.parametrize("databases", [15], indirect=True)  # each run connects anew there
def test_the_source_may_be_read_only_for_everybody(make: Make) -> None:
    """As docs/cutover.md says how to keep writers out."""
    replica = make(SHOP)
    name = psycopg.conninfo.conninfo_to_dict(replica.source)["dbname"]
    replica.at_source("INSERT INTO orders VALUES (1, 10)")
    replica.at_source(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        replica.at_source("INSERT INTO orders VALUES (2, 20)")
    cut_over(replica)
    assert replica.rows(ROWS) == [(1, 10)]
    assert check(replica).is_complete
