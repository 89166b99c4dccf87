"""A table that was dropped at the source stays at the target; the status says so, until somebody removes it there."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Make, Replica

WHY = (
    "its table is gone at the source: it stays with its rows and gets no more. Drop public.gone there when nobody needs"
    " it"
)


def tables(replica: Replica) -> tuple[dict[str, Any], str]:
    """Each table of the status by its name, and the status as text."""
    with flow.open_channel(replica.file, InProcess()) as cycle:
        found = flow.status(cycle)
    return {one["table"]: one for one in found.to_json()["targets"]["warehouse"]["tables"]}, found.text()


def test_the_status_lists_it_with_what_to_do(make: Make) -> None:
    start = (
        "CREATE TABLE t (id int PRIMARY KEY)",
        "CREATE TABLE gone (id int PRIMARY KEY)",
        "INSERT INTO gone VALUES (1)",
    )
    made = make(*start)
    made.settle()
    made.at_source("DROP TABLE gone", "INSERT INTO t VALUES (1)")
    made.replicate()
    found, text = tables(made)
    assert (found["public.gone"]["state"], found["public.gone"]["why"]) == ("kept", WHY)
    assert f"kept since {found['public.gone']['since']}: {WHY}" in text
    assert made.rows("SELECT id FROM gone") == [(1,)]
    made.at_target("DROP TABLE gone")
    assert tables(made)[0].keys() == {"public.t"}
