"""A function of `transform` runs where the rows are: in Spark's workers, which find its module on their own path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.replica import Replica, channel_file, run

pytestmark = pytest.mark.xdist_group("spark")
ROOT = Path(__file__).parents[2]
RULES = """
import os
import pathlib
import pyarrow as pa

def masked(batch):
    (pathlib.Path(__file__).parent / f"ran-{os.getpid()}").touch()
    return pa.RecordBatch.from_pydict({"note": ["*" * len(value) for value in batch.column("note").to_pylist()]})
"""
RUN = """
import os, sys
from airflow_ddlrepl import flow
from airflow_ddlrepl.spark.execute import runner as runners
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings

runners.SMALL_BYTES = 0
runner = SparkRunner(SparkSettings("local[2]"))
print(os.getpid(), flush=True)
for line in sys.stdin:
    with flow.open_channel(sys.argv[1], runner) as cycle:
        getattr(flow, line.strip())(cycle)
    print(line.strip(), flush=True)
runner.stop()
"""


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    said = {"tables": "t", "columns": "note", "function": "shop_rules_of_a_test:masked"}
    places = databases.source, databases.target
    made = Replica(*places, channel_file(tmp_path, *places, transform=[said]))
    made.at_source(
        "CREATE TABLE t (id int PRIMARY KEY, note text)",
        "ALTER TABLE t REPLICA IDENTITY FULL",
        "INSERT INTO t SELECT i, md5(i::text) || md5((-i)::text) FROM generate_series(1, 40000) i",
    )
    return made


def started(replica: Replica, path: Path) -> subprocess.Popen[str]:
    """A process with one Spark. It prints its id, then runs each stage whose name it reads, and prints it again."""
    env = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}"}
    line = [sys.executable, "-c", RUN, str(replica.file)]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=env, cwd=path)


def test_workers_import_the_function(replica: Replica, tmp_path: Path) -> None:
    """By a load, by rows of the log and by a comparison: in other processes than the driver's."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "shop_rules_of_a_test.py").write_text(RULES)
    refused = started(replica, tmp_path)
    _, error = refused.communicate("activate\n", timeout=300)
    assert refused.returncode and "ADP-156" in error and "on PYTHONPATH" in error
    with started(replica, tmp_path / "rules") as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        driver = int(process.stdout.readline())
        for what in ("activate", "replicate", "compare"):
            print(what, file=process.stdin, flush=True)
            assert process.stdout.readline() == f"{what}\n", process.stderr.read()
            ran = [int(file.name.partition("-")[2]) for file in (tmp_path / "rules").glob("ran-*")]
            assert ran and driver not in ran
            for file in (tmp_path / "rules").glob("ran-*"):
                file.unlink()
            stars = [("*" * (64 if what == "activate" else 96), 40000)]
            assert replica.rows("SELECT note, count(*) FROM t GROUP BY 1") == stars
            run(replica.source, *(["UPDATE t SET note = note || md5(note)"] if what == "activate" else []))
        process.stdin.close()
