"""Apply processes with parallelism are killed at every fail point and at random moments: each transaction arrives once.

A handler notes each change that it applies, in the same transaction: what were applied twice would be noted twice.
DDLREPL_CHAOS_FROM chooses the seed, DDLREPL_CHAOS_LIVES how many times it is killed at random moments.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.failpoint import FAIL_POINTS
from airflow_ddlrepl.streams.messages import RowLcr
from tests.flow.streams.streams_channel import BATTERY_TABLES, StreamsChannel, streams_channel
from tests.support.crashing import die, kill_at_random
from tests.support.refusing import ask
from tests.support.replica import run

SEED = int(os.environ.get("DDLREPL_CHAOS_FROM", "1"))
KILLS = int(os.environ.get("DDLREPL_CHAOS_LIVES", "8"))
pytestmark = pytest.mark.timeout(600 + 60 * KILLS)
APPLY = {
    "streams_type": "apply",
    "streams_name": "app",
    "queue_name": "q1",
    "source_database": "dbs1",
    "include_ddl": True,
}
RULES = (
    {"add_global_rules": {**APPLY, "streams_type": "capture", "streams_name": "cap"}},
    {"add_global_rules": APPLY},
    {"set_parameter": {"apply_name": "app", "parameter": "parallelism", "value": 4}},
    {"set_parameter": {"apply_name": "app", "parameter": "disable_on_error", "value": "N"}},
    {"set_dml_handler": {"object_name": "hr.u", "operation_name": "DEFAULT", "user_procedure": "noted"}},
)
POINTS = sorted(point for point in FAIL_POINTS if point.startswith("apply."))


def noted(lcr: RowLcr, apply: Any) -> None:
    """Apply a change, and note it."""
    apply.execute(lcr)
    row = lcr.new or lcr.old
    apply.sql("INSERT INTO public.noted VALUES (%s, %s, %s)", str(lcr.command), row["id"], row.get("k"))


def work(number: int) -> tuple[list[str], list[str]]:
    """Transactions that touch no row in common, others that follow them, DDL, and two that the target refuses.

    Then the same, of the changes of hr.u, as the handler notes them.
    """
    first = number * 100
    rows = [f"INSERT INTO hr.t VALUES ({first + n}, {n}, 'note')" for n in range(10)]
    rows += [f"INSERT INTO hr.u VALUES ({first + n}, {n})" for n in range(10)]
    refused = [f"INSERT INTO hr.t VALUES ({first + n}, 0, 'refused'), ({first + n + 1}, 0, 'too')" for n in (50, 60)]
    follow = [f"UPDATE hr.u SET k = k + 100 WHERE id = {first + n}" for n in range(5)]
    follow += [f"UPDATE hr.t SET k = k + 1 WHERE id IN ({first + n}, {first + n + 1})" for n in range(5)]
    follow += [f"DELETE FROM hr.u WHERE id = {first + 9}", f"DELETE FROM hr.t WHERE id = {first + 9}"]
    statements = [*rows, refused[0], f"ALTER TABLE hr.t ADD x{number} int", *follow, refused[1]]
    changes = [f"INSERT {first + n} {n}" for n in range(10)]
    changes += [f"UPDATE {first + n} {n + 100}" for n in range(5)]
    return statements, [*changes, f"DELETE {first + 9}"]


class Life:
    """A channel whose apply process is killed again and again."""

    def __init__(self, channel: StreamsChannel, target: str) -> None:
        self.channel = channel
        self.target = target
        self.rounds = 0
        self.changes: list[str] = []

    def more(self) -> None:
        """Capture new transactions; the target has a row already that each of the refused ones inserts."""
        self.rounds += 1
        statements, changes = work(self.rounds)
        for n in (50, 60):
            run(self.target, f"INSERT INTO hr.t (id, note) VALUES ({self.rounds * 100 + n}, 'theirs')")
        self.channel.at_source(*statements)
        self.channel.stage(flow.capture)
        self.changes += changes

    def made_good(self) -> None:
        """Apply the rest: every transaction is at the target once, or in the error queue once."""
        assert self.channel.stage(flow.apply).waiting == {"site": 2 * self.rounds}
        applied = "SELECT * FROM hr.t WHERE note = 'note' ORDER BY id", "SELECT * FROM hr.u ORDER BY id"
        for query in applied:
            assert ask(self.target, query) == ask(self.channel.source, query)
        assert ask(self.target, "SELECT DISTINCT note FROM hr.t ORDER BY 1") == [("note",), ("theirs",)]
        found = ask(self.target, "SELECT concat_ws(' ', command, id, k) FROM public.noted")
        assert sorted(text for (text,) in found) == sorted(self.changes)
        with self.channel.opened() as context:
            errors = flow.queued_errors(context)
        assert len({error["at"] for error in errors}) == len(errors) == 2 * self.rounds
        assert not self.channel.stage(flow.has_lcrs)


@pytest.fixture
def life(databases: Any, tmp_path: Path) -> Life:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    functions = {"noted": f"{__name__}:noted"}
    channel = streams_channel(tmp_path, databases.source, *RULES, targets=[target], functions=functions)
    channel.at_source(*BATTERY_TABLES)
    run(databases.target, *BATTERY_TABLES, "CREATE TABLE public.noted (command text, id int, k int)")
    channel.activate()
    return Life(channel, databases.target)


@pytest.mark.parametrize("point", POINTS)
def test_each_transaction_is_applied_once_wherever_a_parallel_apply_is_killed(life: Life, point: str) -> None:
    for times in (1, 2, 5):
        for _ in range(times):
            life.more()
        die("apply", life.channel.file, f"{point}:{times}")
        life.made_good()


def test_each_transaction_is_applied_once_whenever_a_parallel_apply_is_killed(life: Life) -> None:
    runs = kill_at_random("apply", life.channel.file, random.Random(SEED), KILLS, life.more, life.made_good)
    print(f"seed {SEED}: {KILLS} of {runs} runs were killed")
