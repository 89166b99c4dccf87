"""The check of a cut-over says, object by object, what is missing for switching applications over to the target."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.exit_codes import judge_cutover
from airflow_ddlrepl.engines.postgres.connection import connect
from airflow_ddlrepl.errors import ControlStop, DdlReplError, Exit, TablesSuspended, Unreachable
from airflow_ddlrepl.flow.comparing.in_flight import settled
from airflow_ddlrepl.flow.cutover import cut_over
from airflow_ddlrepl.flow.cutover.condition import Code
from airflow_ddlrepl.ports.work import InProcess
from tests.support.crashing import die
from tests.support.replica import BOTH, Make, Replica

SHOP = "CREATE TABLE orders (id int PRIMARY KEY, amount int)"


def check(replica: Replica, *, compares: bool = False) -> Any:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return flow.check_cut_over(cycle, compares=compares)


def missing(replica: Replica, but: str = "CUT-131") -> dict[str, str]:
    """What is missing, by code. but: not this, which most of these tests are not about."""
    found = check(replica).conditions
    return {one.code.value: "; ".join(one.found) for one in found if one.found and one.code != but}


@BOTH
def test_nothing_is_missing_after_a_cycle(make: Make) -> None:
    replica = make(SHOP, "INSERT INTO orders VALUES (1, 10)")
    replica.settle()
    found = check(replica)
    assert [one.text() for one in found.conditions if not one.is_met] == []
    assert judge_cutover(found) is Exit.DONE
    assert found.text().endswith("ready: `ddlrepl cutover CHANNEL.yaml --do` switches over")
    assert json.loads(json.dumps(found.to_json()))["is_complete"]


def test_changes_that_are_not_at_the_target(make: Make) -> None:
    replica = make(SHOP)
    replica.settle()
    replica.at_source("INSERT INTO orders VALUES (1, 10)")
    found = check(replica)
    assert list(missing(replica)) == ["CUT-110"]
    assert "what the source has written between" in missing(replica)["CUT-110"]
    assert found.is_ready and not found.is_complete  # the cut-over itself brings them
    replica.capture()
    assert "changes are captured up to" in missing(replica)["CUT-110"]
    replica.replicate()
    assert missing(replica) == {}


@BOTH
def test_who_writes_is_named_without_values(make: Make) -> None:
    replica = make(SHOP)
    replica.settle()
    with psycopg.connect(replica.source, application_name="shop web") as writer:
        writer.execute("INSERT INTO orders VALUES (1, 10)")
        writer.execute("SELECT 'a password', /* another */ 1")
        found = check(replica)
        told = missing(replica)["CUT-111"]
        assert f"process {writer.info.backend_pid} (user " in told and "application 'shop web'" in told
        assert "idle in transaction since " in told or "open since" in told
        assert "password" not in told and "another" not in told
        sees = writer.execute("SELECT current_setting('server_version_num')::int < 180000").fetchone() == (True,)
        assert ("SELECT '…', 1" in told) is sees  # the small role does not, and is told what it needs
        assert ("With pg_read_all_stats" in found.text()) is not sees
        assert f"pg_terminate_backend({writer.info.backend_pid})" in found.text()
        assert judge_cutover(found) is Exit.FAILED
        writer.rollback()
    assert missing(replica) == {}


def test_a_prepared_transaction_is_named(make: Make) -> None:
    replica = make(SHOP)
    replica.at_source("BEGIN; INSERT INTO orders VALUES (1, 10); PREPARE TRANSACTION 'payment 7'")
    assert "prepared transaction 'payment 7' (user " in missing(replica)["CUT-111"]
    replica.at_source("ROLLBACK PREPARED 'payment 7'")
    assert missing(replica) == {}


def test_tables_that_are_suspended_or_wait(make: Make) -> None:
    replica = make(SHOP, "CREATE TABLE notes (id int PRIMARY KEY)")
    replica.settle()
    replica.at_target("ALTER TABLE orders ADD CONSTRAINT small CHECK (amount < 100)")
    replica.at_source("INSERT INTO orders VALUES (1, 1000)")
    with pytest.raises(DdlReplError, match="INT-123"):
        replica.replicate()
    told = missing(replica)
    assert list(told) == ["CUT-112"]
    assert "public.orders: INT-105" in told["CUT-112"] and "small" in told["CUT-112"]
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.give_up(cycle, ["public.orders"])
    assert list(missing(replica)) == ["CUT-113"]


def test_a_table_that_is_left_out(make: Make) -> None:
    replica = make(SHOP, "CREATE UNLOGGED TABLE cache (id int PRIMARY KEY)")
    replica.settle(["public.cache"])
    told = missing(replica)
    assert list(told) == ["CUT-115"] and "public.cache: it is unlogged" in told["CUT-115"]


def test_a_target_that_does_not_answer(make: Make) -> None:
    replica = make(SHOP)
    replica.settle()
    text = replica.file.read_text()
    replica.file.write_text(
        text.replace("targets:", "targets:\n- {name: away, location: 'postgresql://u:pw1@127.0.0.1:1/x'}")
    )
    told = missing(replica)
    assert list(told) == ["CUT-116"] and "127.0.0.1:1" in told["CUT-116"] and "pw1" not in check(replica).text()


def test_a_table_that_a_refresh_has_isolated(make: Make) -> None:
    replica = make(SHOP)
    replica.settle()
    die("refresh_isolated", replica.file, "isolated.snapshot", ("public.orders",))
    assert list(missing(replica)) == ["CUT-114"]
    replica.settle()
    assert missing(replica) == {}


def test_a_control_that_holds_the_target(make: Make) -> None:
    breaks = [{"add_table_pattern": "*", "on_enroll_break": "FAIL_INTEG_JOB"}]
    replica = make(SHOP, adapt_ddl=breaks)
    replica.settle()
    replica.at_source("ALTER TABLE orders ALTER amount TYPE text USING 'x' || amount")
    with pytest.raises(ControlStop):
        replica.replicate()
    assert "control 1 at target warehouse: " in missing(replica)["CUT-117"]


def test_a_table_whose_changes_are_in_no_log(make: Make) -> None:
    """Nobody sees whether it has changed: the cut-over loads it once more."""
    replica = make("CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a + 1) VIRTUAL)", "INSERT INTO t VALUES (1)")
    replica.settle()
    assert list(missing(replica)) == ["CUT-118"] and check(replica).is_ready
    replica.at_source("INSERT INTO t VALUES (2)")
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.cut_over(cycle, compares=True)
    assert replica.rows("SELECT a FROM t ORDER BY a") == [(1,), (2,)]


def test_differences_are_those_of_the_last_comparison_or_of_one_now(make: Make) -> None:
    replica = make(SHOP, "INSERT INTO orders VALUES (1, 10), (2, 20)")
    assert missing(replica, but="") == {"CUT-131": "nobody has compared all tables of this channel yet"}
    replica.settle()
    assert missing(replica, but="") == {}
    replica.at_target("UPDATE orders SET amount = 11 WHERE id = 1")
    assert missing(replica, but="") == {}  # nobody has looked since
    now = check(replica, compares=True)
    assert [one.found for one in now.conditions if not one.is_met] == [("public.orders: 1 different",)]
    assert "1 when last compared, " in missing(replica, but="")["CUT-131"]
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.repair(cycle)
    assert missing(replica, but="") == {}


def test_a_comparison_that_could_not_decide_is_no_proof_that_rows_are_equal(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log that was in flight while it ran is not retained any more."""
    replica = make(SHOP, "INSERT INTO orders VALUES (1, 10), (2, 20)", retention={"age": 0})
    replica.settle()
    replica.at_source("UPDATE orders SET amount = 11 WHERE id = 1")
    replica.capture()

    def judged(*given: Any) -> Any:
        for _ in range(2):
            replica.replicate()
        return settled(*given)

    with monkeypatch.context() as patch:
        patch.setattr("airflow_ddlrepl.flow.comparing.compare.settled", judged)
        assert replica.compare().undecided
    assert "nobody could say whether they differ: 1 when last compared" in missing(replica, but="")["CUT-131"]
    assert replica.compare().is_equal
    assert missing(replica, but="") == {}


def test_while_somebody_alters_a_table_the_writer_is_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = make(SHOP, "CREATE TABLE notes (id int PRIMARY KEY CHECK (id > 0))")
    replica.settle()
    monkeypatch.setattr(connect, "LOCK_TIMEOUT", "300ms")
    with psycopg.connect(replica.source, application_name="migration") as writer:
        writer.execute("ALTER TABLE notes ADD day date DEFAULT now() CHECK (day > '2000-01-01')")
        told = missing(replica)
        assert "application 'migration'" in told["CUT-111"]
        assert "a lock was not granted in time" in told["CUT-120"]
        writer.rollback()


def test_a_suspended_table_that_is_accepted_hides_no_other_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def cycle(*others: DdlReplError) -> None:
        def fail(*_: object) -> None:
            raise TablesSuspended("late", code="INT-123").with_others(others)

        monkeypatch.setattr(cut_over, "replicate", fail)
        cut_over._cycle(None, None, {Code.SUSPENDED})  # type: ignore[arg-type]

    cycle()
    cycle(TablesSuspended("late elsewhere", code="INT-123"))
    with pytest.raises(TablesSuspended, match="late"):
        cycle(Unreachable("away", code="CON-101"))
