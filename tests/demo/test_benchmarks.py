"""The benchmarks run: both sides of each part end with the same rows, and nothing is left for the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.ports.work import InProcess
from benchmarks.__main__ import main, options, run_parts
from benchmarks.ratios import SETTINGS, Bench

FEW = {**SETTINGS, "max_replication_slots": "5", "shared_buffers": "32MB"}
COPIED = (
    "capture",
    "integrate",
    "refresh",
    "compare",
    "row by row",
    "cycle",
    "replay",
    "suspended",
    "activate",
    "DROP of a temporary",
)
SAID = {
    "changes": 2,
    "keys": 4,
    "refresh": 2,
    "compare": 2,
    "cycles": 2,
    "replay": 2,
    "suspended": 1,
    "activate": 1,
    "ddl_at_source": 2,
}
"""A line per kind of table, load, size; of a replay one for what only warms up, too."""


def test_each_part_measures_and_clears_away_what_it_made(
    private_server: type[PrivateServer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    with private_server("source", settings=FEW) as source, private_server("target", settings=FEW) as target:
        bench = Bench(source, target, tmp_path, InProcess(), 1, said.append)
        run_parts(bench, options(["--scale", "0.002", "--pairs", "1", "--parts", *SAID]))
        for server in (source, target):
            with connect(server.dsn()) as connection:
                left = connection.execute(
                    "SELECT datname FROM pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1')"
                    " UNION ALL SELECT slot_name FROM pg_replication_slots"
                ).fetchall()
            assert left == []
    shown = capsys.readouterr().out
    assert [what for what in COPIED if what not in shown] == []
    assert len(said) == sum(SAID.values()), said


def test_statements_that_are_evaluated_get_to_the_target(capsys: pytest.CaptureFixture[str]) -> None:
    """Of eight kinds all but a DROP that a clause excludes; with ten times the entries the same ones."""
    assert main(["--parts", "ddl", "--scale", "0.0008"]) == 0
    few, many, loaded = capsys.readouterr().out.splitlines()
    assert [line.split(", ")[-1] for line in (few, many)] == ["70 run", "70 run"]
    assert (few.split(" clauses")[0], many.split(" clauses")[0]) == ("100", "1000")
    assert loaded.startswith("a parameter file of 10,000 lines: ")


@pytest.mark.req("ST-X-80")
def test_transformations_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--parts", "transformations", "--scale", "0.02"]) == 0
    declared, calls, function, plain, transformed = capsys.readouterr().out.splitlines()
    assert declared.startswith("declared transformations on top of evaluation: ")
    assert float(calls.split(": ")[1].split()[0]) >= 5
    assert float(function.removeprefix("a function of one step against four declared ones: ").split()[0]) > 1
    assert "against a propagation: " in plain and "with declared transformations: " in transformed
