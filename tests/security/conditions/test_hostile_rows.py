"""Rows for which an expression of the channel file has no answer, or takes for ever, stop their own table alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.merge import evaluator
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

OURS = "tests.support.value_functions"
RESTRICT = [
    {"tables": "r_nan", "condition": "amount::integer > 5"},
    {"tables": "r_sum", "condition": "n + 1 > 0"},
    {"tables": "r_product", "condition": "amount * amount > 5"},
    {"tables": "r_small", "condition": "n::smallint > 5"},
]
TRANSFORM = [{"tables": "t_raise", "columns": "note", "function": f"{OURS}:raising_at"}]
HOSTILE = {
    "r_nan": "2, 'NaN', ''",
    "r_sum": "2147483647, 0, ''",
    "r_product": "2, '1e131071', ''",
    "r_small": "2147483647, 1, ''",
    "t_raise": "1, 2, '%s {0} $1'",
}


def begin(databases: Databases, folder: Path, **more: Any) -> Replica:
    file = channel_file(folder, databases.source, databases.target, restrict=RESTRICT, transform=TRANSFORM, **more)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("create table other (id int primary key)")
    for name in HOSTILE:
        replica.at_source(
            f"create table {name} (id int primary key, n int, amount numeric, note text)",
            f"insert into {name} values (1, 10, 10, '10')",
        )
    return replica


def states(replica: Replica) -> dict[str, str]:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        found = flow.status(cycle).to_json()
    return {one["table"].removeprefix("public."): one["state"] for one in found["targets"]["warehouse"]["tables"]}


def stops_alone(replica: Replica, *names: str) -> str:
    """One cycle suspends these tables, and the others go on; return what the run says."""
    with pytest.raises(DdlReplError, match="INT-123") as caught:
        replica.replicate()
    assert {name for name, state in states(replica).items() if state == "suspended"} == set(names)
    assert replica.rows("select max(id) from other") == [(1,)]
    return str(caught.value)


def test_rows_without_an_answer_stop_their_own_tables(databases: Databases, tmp_path: Path) -> None:
    replica = begin(databases, tmp_path)
    replica.begin()
    for name, values in HOSTILE.items():
        replica.at_source(f"insert into {name} values (66, {values})")
    replica.at_source("insert into other values (1)")
    told = stops_alone(replica, *HOSTILE)
    assert "%s {0}" not in told
    for name in HOSTILE:
        replica.at_source(f"delete from {name} where id = 66")
    replica.refresh(*(f"public.{name}" for name in HOSTILE))
    replica.settle()


def test_loads_of_such_rows_stop_their_own_tables(databases: Databases, tmp_path: Path) -> None:
    replica = begin(databases, tmp_path)
    for name, values in HOSTILE.items():
        replica.at_source(f"insert into {name} values (66, {values})")
    replica.at_source("insert into other values (1)")
    with pytest.raises(DdlReplError) as caught:
        replica.begin()
    assert (caught.value.table or "").removeprefix("public.") in HOSTILE
    assert replica.rows("select id from other") == [(1,)]
    for name in HOSTILE:
        replica.at_source(f"delete from {name} where id = 66")
    replica.settle()


def test_a_function_that_never_ends_for_a_value_stops_its_table(databases: Databases, tmp_path: Path) -> None:
    """A pattern that tries all ways to divide a text, and somebody's text that has very many of them."""
    slow = {"tables": "t_slow", "columns": "note", "function": f"{OURS}:without_tail", "seconds": 1}
    file = channel_file(tmp_path, databases.source, databases.target, transform=[slow])
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("create table other (id int primary key)", "create table t_slow (id int primary key, note text)")
    replica.begin()
    replica.at_source("insert into t_slow values (1, repeat('a', 60) || '!')", "insert into other values (1)")
    told = stops_alone(replica, "t_slow")
    assert "INT-114" in told and "longer than 1 s" in told
    replica.at_source("delete from t_slow")
    replica.refresh("public.t_slow")
    replica.settle()


def test_a_condition_that_takes_too_long_stops_its_table(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of 60,000 digits that are to be multiplied."""
    monkeypatch.setattr(evaluator, "SECONDS", 1)
    replica = begin(databases, tmp_path)
    replica.begin()
    replica.at_source(
        "insert into r_product select i, 1, repeat('7', 60000)::numeric, '' from generate_series(2, 200) i",
        "insert into other values (1)",
    )
    assert "INT-113" in stops_alone(replica, "r_product")
