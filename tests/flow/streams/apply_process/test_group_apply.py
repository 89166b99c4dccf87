"""Transactions are applied in groups: readers, the error queue and runs that die see what single transactions give."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.streams.apply_process import group_apply, row_groups
from airflow_ddlrepl.flow.streams.apply_process.group_apply import GroupApply
from airflow_ddlrepl.flow.streams.apply_process.parallel_apply import apply_wave
from airflow_ddlrepl.streams.messages import RowLcr
from tests.flow.streams.apply_process.test_apply import APPLY, CAPTURED, GOES_ON
from tests.flow.streams.streams_channel import StreamsChannel, streams_channel
from tests.postgres.apply_lcrs.applying import ask
from tests.support.replica import run

TABLES = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.t (id int PRIMARY KEY, k int, note text)",
    "CREATE TABLE hr.u (id int PRIMARY KEY, k int)",
)
RULES = {"add_global_rules": {**APPLY, "include_ddl": True}}
PARALLEL = {"set_parameter": {"apply_name": "apply_hr", "parameter": "parallelism", "value": 4}}
QUERY = "SELECT * FROM hr.t ORDER BY id"


def begun(databases: Any, folder: Path, *calls: dict[str, Any], **streams: Any) -> StreamsChannel:
    target = {"name": "site", "location": databases.target, "apply": "apply_hr"}
    channel = streams_channel(folder, databases.source, CAPTURED, *calls, targets=[target], **streams)
    channel.at_source(*TABLES)
    run(databases.target, *TABLES)
    channel.activate()
    return channel


def captured(channel: StreamsChannel, *statements: str) -> None:
    channel.at_source(*statements)
    channel.stage(flow.capture)


def insert(low: int, high: int) -> str:
    return f"INSERT INTO hr.t SELECT i, i, 'note' FROM generate_series({low}, {high}) i"


def transactions_at(location: str) -> int:
    """How many transactions have written the rows that are there."""
    return int(ask(location, "SELECT count(DISTINCT xmin::text) FROM hr.t")[0][0])


def test_of_a_group_only_the_transaction_that_fails_is_in_the_error_queue(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, RULES, GOES_ON)
    run(databases.target, "INSERT INTO hr.t VALUES (57, 0, 'theirs')")
    captured(channel, *(insert(10 * n, 10 * n + 9) for n in range(10)), "DELETE FROM hr.t WHERE id = 3")
    found = channel.stage(flow.apply)
    assert (found.transactions, found.errors, found.changes) == (10, 1, {"insert": 90, "delete": 1})
    expected = [n for n in (*range(3), *range(4, 100)) if n == 57 or n // 10 != 5]
    assert [number for (number,) in ask(databases.target, "SELECT id FROM hr.t ORDER BY id")] == expected
    assert transactions_at(databases.target) <= 5, "all others share transactions at the target"
    with channel.opened() as context:
        [error] = flow.queued_errors(context)
    assert "10 messages" in error["message"] and error["code"] == "23505"
    run(databases.target, "DELETE FROM hr.t WHERE id = 57")
    channel.stage(flow.retry_errors)
    assert ask(databases.target, QUERY) == ask(channel.source, QUERY)


def handler(lcr: RowLcr, apply: Any) -> None:
    apply.execute(lcr)


@pytest.mark.parametrize(
    "level", [{"add_table_rules": {"table_name": "hr.t"}}, {"add_schema_rules": {"schema_name": "hr"}}]
)
def test_rules_of_statements_do_not_keep_rows_from_a_group(
    databases: Any, tmp_path: Path, level: dict[str, dict[str, Any]]
) -> None:
    [(call, about)] = level.items()
    channel = begun(databases, tmp_path, {call: {**about, **APPLY, "include_ddl": True}})
    captured(channel, *(insert(100 * n, 100 * n + 99) for n in range(10)))
    with patch.object(GroupApply, "_one_by_one", side_effect=AssertionError):
        assert channel.stage(flow.apply).transactions == 10
    assert ask(databases.target, QUERY) == ask(channel.source, QUERY)


def noted(lcr: RowLcr, apply: Any) -> None:
    apply.sql("INSERT INTO hr.u VALUES (%s, 0)", int(lcr.new["id"]))


def test_an_error_handler_is_called_for_what_fails_and_others_share_transactions(
    databases: Any, tmp_path: Path
) -> None:
    handler = {"object_name": "hr.t", "operation_name": "DEFAULT", "user_procedure": "noted", "error_handler": True}
    channel = begun(databases, tmp_path, RULES, {"set_dml_handler": handler}, functions={"noted": f"{__name__}:noted"})
    run(databases.target, "INSERT INTO hr.t VALUES (157, 0, 'theirs')")
    captured(channel, *(insert(100 * n, 100 * n + 99) for n in range(10)))
    found = channel.stage(flow.apply)
    assert (found.transactions, found.errors) == (10, 0)
    assert ask(databases.target, "SELECT * FROM hr.u") == [(157, 0)]
    other = "SELECT * FROM hr.t WHERE id <> 157 ORDER BY id"
    assert ask(databases.target, other) == ask(channel.source, other)
    alone = "SELECT count(DISTINCT xmin::text) FROM hr.t WHERE id NOT BETWEEN 100 AND 199"
    assert ask(databases.target, alone)[0][0] <= 4, "all others share transactions at the target"


def test_parts_of_a_group_that_touch_no_row_in_common_are_applied_side_by_side(
    databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    waves: list[tuple[int, int]] = []

    def watched(sessions: Any, parts: Any, *work: Any) -> int:
        waves.append((apply_wave(sessions, parts, *work), len(parts)))
        return waves[-1][0]

    monkeypatch.setattr(group_apply, "apply_wave", watched)
    channel = begun(databases, tmp_path, RULES, GOES_ON, PARALLEL)
    run(databases.target, "INSERT INTO hr.t VALUES (95, 0, 'theirs')")
    rows = [insert(10 * n, 10 * n + 9) for n in range(20)]
    updates = [f"UPDATE hr.t SET k = k + {n} WHERE id < 30" for n in range(10)]
    captured(channel, *rows, *updates)
    assert channel.stage(flow.apply).errors == 1
    assert waves[0] == (4, 4), "the first group finds out what table it is"
    assert (1, 4) in waves, "behind the part that fails none is committed"
    assert len(waves) < 7, "those that touch the same rows follow each other"
    other = "SELECT * FROM hr.t WHERE id NOT BETWEEN 90 AND 99 ORDER BY id"
    assert ask(databases.target, other) == ask(channel.source, other)


def test_all_sessions_know_a_column_by_the_type_that_a_statement_has_given_it(
    databases: Any, tmp_path: Path, small: None
) -> None:
    channel = begun(databases, tmp_path, RULES, PARALLEL)
    days = "ALTER TABLE hr.t ADD at date"
    rows = [f"INSERT INTO hr.t VALUES ({n}, {n}, 'note', '2020-01-01')" for n in range(100)]
    hours = "ALTER TABLE hr.t ALTER at TYPE timestamp"
    more = [f"INSERT INTO hr.t VALUES ({n}, {n}, 'note', '2020-01-01 10:00')" for n in range(100, 200)]
    captured(channel, days, *rows, hours, *more)
    channel.stage(flow.apply)
    assert ask(databases.target, QUERY) == ask(channel.source, QUERY)


def test_statements_and_tables_with_handlers_keep_their_places(
    databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups are cut around what is applied one by one."""
    monkeypatch.setattr(row_groups, "FEW_ROWS", 1)
    on_u = {"set_dml_handler": {"object_name": "hr.u", "operation_name": "DEFAULT", "user_procedure": "handler"}}
    channel = begun(databases, tmp_path, RULES, on_u, functions={"handler": f"{__name__}:handler"})
    captured(
        channel,
        insert(1, 5),
        "UPDATE hr.t SET k = 10 WHERE id <= 2",
        "INSERT INTO hr.u VALUES (1, 1)",
        "ALTER TABLE hr.t ADD x int DEFAULT 5",
        "INSERT INTO hr.t VALUES (6, 6, 'six', 6)",
        "UPDATE hr.t SET x = 7 WHERE id = 6",
        "TRUNCATE hr.u",
        "INSERT INTO hr.t SELECT i, i, 'new', i FROM generate_series(7, 9) i",
        "ALTER TABLE hr.t DROP note",
        "DELETE FROM hr.t WHERE id = 8",
    )
    found = channel.stage(flow.apply)
    assert found.changes == {"insert": 10, "update": 3, "delete": 1, "ddl": 3}
    assert found.transactions == 10
    assert ask(databases.target, QUERY) == ask(channel.source, QUERY)
    assert transactions_at(databases.target) > 2


def test_rules_say_of_rows_together_what_they_say_of_each(databases: Any, tmp_path: Path) -> None:
    renamed = {"rename_column": {"rule_name": "r", "table_name": "hr.t", "from_column_name": "note",
                                 "to_column_name": "remark"}}  # fmt: skip
    calls = (
        {"add_table_rules": {"table_name": "hr.t", **APPLY, "dml_rule_name": "r", "include_ddl": False}},
        renamed,
        {"rename_table": {"rule_name": "r", "from_table_name": "hr.t", "to_table_name": "hr.other"}},
        {"set_table_instantiation_scn": {
            "source_object_name": "hr.t", "source_database_name": "dbs1", "instantiation_scn": 0}},
    )  # fmt: skip
    channel = begun(databases, tmp_path, *calls)
    run(databases.target, "CREATE TABLE hr.other (id int PRIMARY KEY, k int, remark text)")
    captured(channel, insert(1, 300), "INSERT INTO hr.u VALUES (1, 1)", "UPDATE hr.t SET k = 0 WHERE id > 290")
    found = channel.stage(flow.apply)
    assert found.changes == {"insert": 300, "update": 10}
    assert sum(found.discarded.values()) == 1 and next(iter(found.discarded)).startswith("hr.u: no positive rule")
    theirs = ask(databases.target, "SELECT id, k, remark FROM hr.other ORDER BY id")
    assert theirs == ask(channel.source, QUERY)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Groups of some rows."""
    for module in (row_groups, group_apply):
        monkeypatch.setattr(module, "MOST_ROWS", 40)
    monkeypatch.setattr(group_apply, "LEAST_ROWS", 5)
    yield


class Killed(BaseException):
    pass


@pytest.mark.parametrize("point", ["apply.transaction", "apply.committed"])
def test_a_run_that_dies_between_groups_loses_nothing_and_does_nothing_twice(
    databases: Any, tmp_path: Path, point: str, monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    channel = begun(databases, tmp_path, RULES, GOES_ON)
    run(databases.target, "INSERT INTO hr.t VALUES (57, 0, 'theirs')")
    statements = [insert(10 * n, 10 * n + 9) for n in range(20)]
    captured(channel, *statements, "UPDATE hr.t SET k = k + 1 WHERE id >= 100", insert(300, 500))
    runs = 0
    for _ in range(100):
        runs += 1
        left = [2]

        def die(name: str, left: list[int] = left) -> None:
            if name == point:
                left[0] -= 1
                if not left[0]:
                    raise Killed

        with monkeypatch.context() as dying:
            for module in ("flow.streams.apply_process.apply_feed", "engines.postgres.apply_lcrs.target"):
                dying.setattr(f"airflow_ddlrepl.{module}.reach", die)
            try:
                channel.stage(flow.apply)
                break
            except Killed:
                continue
    assert runs > 3
    other = "SELECT * FROM hr.t WHERE id NOT BETWEEN 50 AND 59 ORDER BY id"
    assert ask(databases.target, other) == ask(channel.source, other)
    with channel.opened() as context:
        assert [error["code"] for error in flow.queued_errors(context)] == ["23505"]


@pytest.mark.parametrize("calls", [(), (PARALLEL,)])
def test_a_reader_sees_only_what_the_source_had_between_two_transactions(
    databases: Any, tmp_path: Path, calls: tuple[Any, ...], small: None
) -> None:
    """Each transaction moves an amount between rows, and raises the number of the last one: they agree at a commit."""
    channel = begun(databases, tmp_path, RULES, *calls)
    dice = random.Random(7)
    moves, balances, states = [insert(0, 20)], {n: n for n in range(21)}, set()
    for number in range(120):
        one, other, amount = dice.randrange(1, 21), dice.randrange(1, 21), dice.randrange(9)
        changes = (
            f"UPDATE hr.t SET k = k - {amount} WHERE id = {one}; UPDATE hr.t SET k = k + {amount} WHERE id = {other}"
        )
        moves.append(f"DO $$ BEGIN {changes}; UPDATE hr.t SET k = {number + 1} WHERE id = 0; END $$")
        balances[one] -= amount
        balances[other] += amount
        balances[0] = number + 1
        states.add(tuple(balances.values()))
    captured(channel, *moves)
    states |= {(), tuple(range(21))}
    seen: set[tuple[int, ...]] = set()
    ended = threading.Event()

    def look() -> None:
        with psycopg.connect(databases.target, autocommit=True) as reader:
            while not ended.is_set():
                seen.add(tuple(k for (k,) in reader.execute("SELECT k FROM hr.t ORDER BY id").fetchall()))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        channel.stage(flow.apply)
    finally:
        ended.set()
        thread.join()
    assert ask(databases.target, QUERY) == ask(channel.source, QUERY)
    assert seen <= states
    assert len(seen) > 1


def test_small_transactions_of_two_tables_are_never_taken_for_a_large_one(
    databases: Any, tmp_path: Path, small: None
) -> None:
    """The files of the first table are read, with rows of many groups, before a row of the second one is."""
    channel = begun(databases, tmp_path, RULES, GOES_ON)
    run(databases.target, "INSERT INTO hr.t VALUES (57, 0, 'theirs')")
    rows = [insert(10 * n, 10 * n + 9) for n in range(30)]
    others = [f"INSERT INTO hr.u SELECT i, i FROM generate_series({10 * n}, {10 * n + 9}) i" for n in range(30)]
    captured(channel, *(one for pair in zip(rows, others, strict=True) for one in pair))
    with patch.object(GroupApply, "_large", side_effect=AssertionError):
        found = channel.stage(flow.apply)
    assert (found.transactions, found.errors) == (59, 1)
    assert ask(databases.target, "SELECT count(*) FROM hr.u") == [(300,)]


def test_a_transaction_that_is_larger_than_a_group_is_not_held_in_memory(
    databases: Any, tmp_path: Path, small: None
) -> None:
    channel = begun(databases, tmp_path, RULES)
    captured(channel, insert(1, 30), insert(31, 1000), "UPDATE hr.t SET k = 0 WHERE id % 10 = 0", insert(1001, 1010))
    assert channel.stage(flow.apply).transactions == 4
    assert ask(databases.target, QUERY) == ask(channel.source, QUERY)
