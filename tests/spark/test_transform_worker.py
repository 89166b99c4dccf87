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
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings

runner = SparkRunner(SparkSettings("local[2]"))
with flow.open_channel(sys.argv[1], runner) as cycle:
    getattr(flow, sys.argv[2])(cycle)
runner.stop()
print(os.getpid())
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


def run_with_spark(replica: Replica, path: Path, what: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}"}
    line = [sys.executable, "-c", RUN, str(replica.file), what]
    return subprocess.run(line, capture_output=True, text=True, timeout=300, env=env, cwd=path)


def test_workers_import_the_function(replica: Replica, tmp_path: Path) -> None:
    """By a load, by rows of the log and by a comparison: in other processes than the driver's."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "shop_rules_of_a_test.py").write_text(RULES)
    refused = run_with_spark(replica, tmp_path, "activate")
    assert refused.returncode and "ADP-156" in refused.stderr and "on PYTHONPATH" in refused.stderr
    for what in ("activate", "replicate", "compare"):
        done = run_with_spark(replica, tmp_path / "rules", what)
        assert done.returncode == 0, done.stderr
        driver = int(done.stdout.split()[-1])
        ran = [int(file.name.partition("-")[2]) for file in (tmp_path / "rules").glob("ran-*")]
        assert ran and driver not in ran
        for file in (tmp_path / "rules").glob("ran-*"):
            file.unlink()
        stars = [("*" * (64 if what == "activate" else 96), 40000)]
        assert replica.rows("SELECT note, count(*) FROM t GROUP BY 1") == stars
        run(replica.source, *(["UPDATE t SET note = note || md5(note)"] if what == "activate" else []))
