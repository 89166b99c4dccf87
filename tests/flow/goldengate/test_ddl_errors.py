"""DDLERROR: what becomes of a statement that the target refuses, and that everything else arrives exactly once."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.cli import commands
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.flow.apply import replicat as replicat_of_targets
from tests.support.crashing import die
from tests.support.replica import Make, Replica, may_differ, run
from tests.support.replicating import columns, replicat

EXISTS, NO_COLUMN = "42701", "42703"
"""duplicate_column, undefined_column"""


def refused(replica: Replica) -> CannotAdapt:
    with pytest.raises(CannotAdapt) as caught:
        replica.replicate()
    return caught.value


def errors(replica: Replica) -> list[dict[str, Any]]:
    return list(commands.errors(replica.file).to_json())


def in_the_way(replica: Replica) -> None:
    """The target's table has a column of people's, and the source's table gets one of that name, between rows."""
    replica.at_target("ALTER TABLE bk.bak_pay ADD x int")
    replica.at_source(
        "INSERT INTO hr.pay VALUES (2, 2)", "ALTER TABLE hr.pay ADD x int", "INSERT INTO hr.pay VALUES (3, 3, 3)"
    )


@pytest.mark.req("GG-R-29", "GG-R-31")
def test_without_a_rule_the_run_fails_and_the_next_one_tries_the_statement_again(make: Make, databases: Any) -> None:
    made = replicat(make, databases, errors=[{"error": NO_COLUMN, "action": "IGNORE"}])
    in_the_way(made)
    error = refused(made)
    assert (error.code, error.table) == ("ADP-153", "hr.pay")
    assert "no rule of DDLERROR has 42701, and there is no DEFAULT: ABEND" in error.message
    assert made.rows("SELECT id FROM bk.bak_pay ORDER BY 1") == [(1,), (2,)]
    assert refused(made).at == error.at
    made.at_target("ALTER TABLE bk.bak_pay DROP x")
    made.settle()
    assert made.rows("SELECT id, v, x FROM bk.bak_pay ORDER BY 1") == [(1, 1, None), (2, 2, None), (3, 3, 3)]


@pytest.mark.req("GG-R-26", "GG-R-27", "GG-R-32")
def test_the_first_rule_whose_clauses_are_true_has_the_statement_ignored(make: Make, databases: Any) -> None:
    rules = [
        {"error": EXISTS, "action": "DISCARD", "include": [{"objname": "bk.bak_tmp"}]},
        {"error": EXISTS, "action": "IGNORE", "include": [{"objname": "bk.bak_pay"}]},
        {"error": EXISTS, "action": "ABEND"},
    ]
    made = replicat(make, databases, errors=rules)
    in_the_way(made)
    made.at_source("ALTER TABLE hr.tmp ADD y int", "INSERT INTO hr.tmp VALUES (2, 2)")
    done = made.replicate()
    ((why, count),) = done.discarded.items()
    assert why.startswith("hr.pay: DDLERROR 42701: IGNORE: the target refuses `ALTER TABLE bk.bak_pay ADD x int`: ")
    assert count == 1
    assert made.rows("SELECT id, v, x FROM bk.bak_pay ORDER BY 1") == [(1, 1, None), (2, 2, None), (3, 3, None)]
    assert made.rows("SELECT id, y FROM bk.bak_tmp ORDER BY 1") == [(1, None), (2, 2)]
    assert errors(made) == []
    assert len(may_differ(made)) == 1
    made.at_source("ALTER TABLE hr.pay DROP v")
    assert "differed from the source's: column x" in refused(made).message
    made.at_target("ALTER TABLE bk.bak_pay DROP x")
    made.refresh("hr.pay")
    made.settle()
    assert may_differ(made) == []
    assert columns(made, "bk.bak_pay") == "id x"


@pytest.mark.req("GG-R-28", "GG-R-33")
def test_default_puts_the_statement_aside(make: Make, databases: Any) -> None:
    rules = [{"error": "DEFAULT", "action": "DISCARD"}, {"error": NO_COLUMN, "action": "ABEND"}]
    made = replicat(make, databases, errors=rules)
    in_the_way(made)
    done = made.replicate()
    assert [why.split(":")[1:3] for why in done.discarded] == [[" DDLERROR 42701", " DISCARD"]]
    assert made.rows("SELECT id, v FROM bk.bak_pay ORDER BY 1") == [(1, 1), (2, 2), (3, 3)]
    (found,) = errors(made)
    assert (found["code"], found["stage"], found["table"]) == ("DDL-103", "target warehouse", "hr.pay")
    assert found["at"] and "`ALTER TABLE bk.bak_pay ADD x int`" in found["message"] and EXISTS in found["message"]


@pytest.mark.req("GG-R-30")
def test_a_try_that_succeeds_is_no_error(make: Make, databases: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = {"error": EXISTS, "action": "IGNORE", "max_retries": 2, "retry_delay": 3}
    made = replicat(make, databases, errors=[rule])
    in_the_way(made)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 6:
            made.at_target("ALTER TABLE bk.bak_pay DROP x")

    monkeypatch.setattr(replicat_of_targets, "sleep", sleep)
    done = made.settle()
    assert (done.discarded, len(waited), errors(made), may_differ(made)) == ({}, 6, [], [])
    assert columns(made, "bk.bak_pay") == "id v x"


def test_no_try_more_than_the_rule_has(make: Make, databases: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = replicat(make, databases, errors=[{"error": EXISTS, "action": "IGNORE", "max_retries": 2, "retry_delay": 1}])
    in_the_way(made)
    waited: list[float] = []
    monkeypatch.setattr(replicat_of_targets, "sleep", waited.append)
    assert list(made.replicate().discarded.values()) == [1]
    assert waited == [1, 1]


def test_a_statement_that_can_not_be_run_is_one_for_default(make: Make, databases: Any) -> None:
    """Nothing is given to the target that may reach beyond the table; so there is no error of its."""
    made = replicat(make, databases, errors=[{"error": "ADP-151", "action": "DISCARD"}])
    made.at_source("ALTER TABLE hr.pay DROP v CASCADE", "INSERT INTO hr.pay VALUES (2)")
    made.replicate()
    assert columns(made, "bk.bak_pay") == "id v"
    (found,) = errors(made)
    assert "DDLERROR ADP-151" in found["message"]
    assert made.rows("SELECT id FROM bk.bak_pay ORDER BY 1") == [(1,), (2,)]


@pytest.mark.req("GG-R-34")
def test_a_table_that_exists_already(make: Make, databases: Any) -> None:
    """The key of a rule is PostgreSQL's SQLSTATE, which the server gives: other systems are no targets of a channel."""
    made = replicat(make, databases, errors=[{"error": "42P07", "action": "IGNORE"}])
    made.at_target("CREATE TABLE bk.bak_new (id int PRIMARY KEY)", "INSERT INTO bk.bak_new VALUES (7)")
    made.at_source("CREATE TABLE hr.new (id int PRIMARY KEY)", "INSERT INTO hr.new VALUES (1)")
    done = made.replicate()
    assert [why.split(": ")[:3] for why in done.discarded] == [
        ["hr.new", "DDLERROR 42P07", "IGNORE"],
        ["hr.new", "the target has no such table"],
    ]
    assert made.rows("SELECT id FROM bk.bak_new") == [(7,)]


@pytest.mark.req("GG-R-01", "GG-R-23", "GG-R-25")
@pytest.mark.parametrize("point", ["integrate.altered", "integrate.committed"])
def test_a_run_that_is_killed_behind_a_statement_does_not_run_it_twice(make: Make, databases: Any, point: str) -> None:
    """The statement has run, and is not committed; or is, and the repository does not know."""
    made = replicat(make, databases)
    made.at_target(
        "CREATE TABLE public.runs (at timestamptz)",
        "CREATE FUNCTION public.ran() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$ BEGIN IF current_query() LIKE '%ADD x%' THEN INSERT INTO public.runs VALUES (now()); END IF; END $$",
        "CREATE EVENT TRIGGER ran ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION public.ran()",
        "ALTER EVENT TRIGGER ran ENABLE ALWAYS",
    )
    made.at_source("UPDATE hr.pay SET v = 2", "ALTER TABLE hr.pay ADD x int", "UPDATE hr.pay SET x = 3")
    made.at_source("ALTER TABLE hr.pay ADD y int", "UPDATE hr.pay SET y = 4")
    die("replicate", made.file, point)
    made.settle()
    assert made.rows("SELECT id, v, x, y FROM bk.bak_pay") == [(1, 2, 3, 4)]
    assert made.rows("SELECT count(*) FROM public.runs") == [(1,)]


@pytest.mark.req("GG-R-36")
def test_a_refused_statement_stops_its_target_alone_and_is_not_repeated_at_the_others(
    make: Make, databases: Any, past: str
) -> None:
    with psycopg.connect(past, autocommit=True) as session:
        session.execute("CREATE SCHEMA bk")
    second = {"name": "second", "location": past, "replicat": {"maps": [{"source": "hr.*", "target": "bk.*"}]}}
    made = replicat(make, databases, targets=[second])
    run(past, "ALTER TABLE bk.pay ADD x int")
    made.at_source("ALTER TABLE hr.pay ADD x int DEFAULT 5", "INSERT INTO hr.pay VALUES (2, 2)")
    error = refused(made)
    assert (error.code, error.target) == ("ADP-153", "second")
    assert made.rows("SELECT id, x FROM bk.bak_pay ORDER BY 1") == [(1, 5), (2, 5)]
    run(past, "ALTER TABLE bk.pay DROP x")
    done = made.settle()
    assert [one.target for one in done.adapt.executed if "ADD x" in one.sql] == ["second"]
