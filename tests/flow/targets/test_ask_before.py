"""`ask_before`: a target waits for a person before a change that takes something from it; the rows before are there."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.adapt.policy import can_stop
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ControlStop
from airflow_ddlrepl.flow.admin.controls import held_controls
from airflow_ddlrepl.operators.messages.approvals import controls_text
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Make, Replica

START = (
    "CREATE TYPE pair AS (a int, b int)",
    "CREATE TABLE t (id int PRIMARY KEY, v text, n bigint, p pair)",
    "CREATE TABLE gone (id int PRIMARY KEY)",
    "INSERT INTO t VALUES (1, 'only here', 1, '(1,2)')",
    "INSERT INTO gone VALUES (1)",
)
ALL = ["drop_column", "narrow", "drop_table"]
CASES: dict[str, tuple[str, str]] = {
    "a column": ("drop_column", "ALTER TABLE t DROP COLUMN v"),
    "an attribute": ("drop_column", "ALTER TYPE pair DROP ATTRIBUTE b"),
    "a narrower type": ("narrow", "ALTER TABLE t ALTER n TYPE int"),
    "a table": ("drop_table", "DROP TABLE gone"),
}
REPLAY = {"replay_ddl": [{"tables": ["*.*"]}], "adapt_ddl": []}


def released(made: Replica) -> list[tuple[str, str]]:
    """Remove what stops the target; return reasons and policies."""
    with flow.open_channel(made.file, InProcess()) as cycle:
        found = cycle.repository.controls("shop")
        for one in found:
            cycle.repository.remove_control("shop", one.id)
    return [(one.reason, one.policy) for one in found]


@pytest.mark.parametrize("more", [{}, REPLAY], ids=["adapted", "replayed"])
@pytest.mark.parametrize("case", list(CASES))
def test_the_target_waits_and_goes_on_when_the_control_is_removed(make: Make, case: str, more: Any) -> None:
    policy, statement = CASES[case]
    made = make(*START, ask_before=[policy], **more)
    assert can_stop(load_channel(made.file))
    made.settle()
    before = made.rows("SELECT t::text FROM t")
    made.at_source("INSERT INTO t (id) VALUES (2)", statement, "INSERT INTO t (id) VALUES (3)")
    for _ in range(2):
        with pytest.raises(ControlStop, match="CTL-101: target warehouse stops before a change of public"):
            made.replicate()
    assert made.rows("SELECT t::text FROM t WHERE id = 1") == before
    assert made.rows("SELECT id FROM t ORDER BY 1") == [(1,), (2,)]
    assert made.rows("SELECT id FROM gone") == [(1,)]
    ((reason, asked),) = released(made)
    assert asked == f"ask_before: {policy}" and reason.startswith("`ask_before` lists it: ")
    made.replicate()
    assert made.rows("SELECT id FROM t ORDER BY 1") == [(1,), (2,), (3,)]
    made.check_equal()


@pytest.mark.parametrize("case", list(CASES))
def test_what_is_not_listed_does_not_wait(make: Make, case: str) -> None:
    policy, statement = CASES[case]
    made = make(*START, ask_before=[one for one in ALL if one != policy])
    made.settle()
    made.at_source(
        statement, "ALTER TABLE t ADD x int, ALTER n TYPE numeric" if case != "a narrower type" else "SELECT 1"
    )
    made.replicate()
    made.check_equal()


def test_a_column_that_stays_by_keep_existing_structure_is_not_asked_about(make: Make) -> None:
    kept = [{"add_table_pattern": "*", "keep_existing_structure": True}]
    made = make(*START, ask_before=ALL, adapt_ddl=kept)
    made.settle()
    made.at_source("ALTER TABLE t DROP COLUMN v")
    made.replicate()
    assert made.rows("SELECT v FROM t") == [("only here",)]


def test_a_channel_with_rules_of_streams_has_no_such_key() -> None:
    source = {"location": "postgresql://nobody@127.0.0.1/nowhere", "tables": ["*.*"]}
    given = {"channel": "shop", "source": source, "streams": {}, "ask_before": ["drop_table"]}
    with pytest.raises(ValueError, match="ask_before: rules of Streams decide which DDL"):
        Channel.model_validate(given)


def test_the_approval_says_that_the_change_is_made_in_full(make: Make) -> None:
    made = make(*START, ask_before=["drop_column"])
    made.settle()
    made.at_source("ALTER TABLE t DROP COLUMN v")
    with pytest.raises(ControlStop):
        made.replicate()
    text = controls_text("shop", held_controls(load_channel(made.file)))
    assert "values of dropped columns and attributes are lost" in text and "ALTER TABLE t DROP COLUMN v" in text
    assert "may differ from the source" not in text
