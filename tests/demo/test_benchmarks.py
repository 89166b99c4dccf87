"""The benchmarks run: both sides of each part end with the same rows, and nothing is left for the next one."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.ports.work import InProcess
from benchmarks.__main__ import main, options, run_parts
from benchmarks.growth import CHANGES, TABLES, WORKERS
from benchmarks.picture import Chart, Line, drawn
from benchmarks.ratios import SETTINGS, Bench
from benchmarks.schedule import Recorded, makespan

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
    "workers, computed",
)
SCALE = 0.002
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
    "growth": len(CHANGES) + len({max(1, int(count * SCALE)) for count in TABLES}) + len(WORKERS),
}
"""A line per kind of table, load, size; of a replay one for what only warms up, too."""


def test_each_part_measures_and_clears_away_what_it_made(
    private_server: type[PrivateServer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    with private_server("source", settings=FEW) as source, private_server("target", settings=FEW) as target:
        bench = Bench(source, target, tmp_path, InProcess(), 1, said.append)
        amounts = ["--scale", str(SCALE), "--pairs", "1", "--picture", str(tmp_path / "growth.svg")]
        run_parts(bench, options([*amounts, "--parts", *SAID]))
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
    assert ElementTree.parse(tmp_path / "growth.svg").getroot().tag.endswith("svg")


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


def test_tasks_are_spread_as_soon_as_a_worker_is_free() -> None:
    assert [makespan((3, 1, 1, 1), workers) for workers in (1, 2, 4, 64)] == [6, 3, 3, 3]
    assert makespan((), 2) == 0
    found = Recorded(2.0, {"capture": [(4.0, 4.0)], "integrate": [(1.0,), (1.0,)]})
    assert found.seconds(2, 0.5) == {"capture": 4.5, "integrate": 3.0, "driver": 2.0}


def test_a_chart_shows_each_point_of_its_lines() -> None:
    measured = Line("measured <here>", [(1, 0.5), (10, 5), (100, 50)])
    found = ElementTree.fromstring(drawn("title", "about", [Chart("title", "axis", [measured])]))
    circles = [one for one in found.iter() if one.tag.endswith("circle")]
    assert len(circles) == 3
    ups = [float(one.attrib["cy"]) for one in circles]
    assert ups == sorted(ups, reverse=True) and ups[0] - ups[1] == pytest.approx(ups[1] - ups[2], abs=0.2)
