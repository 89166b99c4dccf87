"""What travels to Spark's workers, and what they say when they can't use it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest
from pyspark.cloudpickle import dumps

import airflow_ddlrepl
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.execute.task_pickle import pack, unpack
from airflow_ddlrepl.spark.execute.worker import TaskFailed, attempt, version_mismatch, work
from airflow_ddlrepl.spark.session.settings import SparkSettings
from tests.spark.support import tasks

SECRET = "postgresql://app:marker%21pass@db/shop"
ROOT = Path(__file__).parents[2]
DRIVERS_ONLY = ("airflow", "sqlalchemy", "alembic", "sqlglot", "yaml", "pendulum", "typer", "rich", "py4j", "grpc")
IMPORTS = f"""
import importlib, sys
for name in {DRIVERS_ONLY}:
    sys.modules[name] = None
for name in ("log.capture_range", "load.load_chunk", "load.swap", "merge.stage", "compare.digest"):
    importlib.import_module("airflow_ddlrepl.engines.postgres." + name)
for name in ("staging", "loading", "comparing"):
    importlib.import_module("airflow_ddlrepl.engines." + name)
import airflow_ddlrepl.spark.execute.worker
"""
RUN = """
import sys, pickle
{before}
run, rows = pickle.loads(sys.stdin.buffer.read())
batch = next(run(iter([rows])))
sys.stdout.buffer.write(pickle.dumps(batch.to_pylist()))
"""


def test_a_parcel_holds_no_password() -> None:
    secrets: list[str] = []
    content = {"dsn": SECRET, "words": [SECRET, "host=db password=marker!pass", "a=b", "s3://bucket/trail"]}
    parcel = pack(content, secrets)
    assert b"marker" not in parcel and b"s3://bucket/trail" in parcel
    assert secrets == [SECRET, "host=db password=marker!pass"]
    assert unpack(parcel, secrets) == content
    assert b"marker" not in pack(content, secrets) and len(secrets) == 2


def run_elsewhere(before: str) -> dict[str, object]:
    """The function as Spark ships it, in another Python."""
    rows = pyarrow.record_batch({"item": [0], "parcel": [pack((tasks.square, 3), [])]})
    given = dumps((work([]), rows))  # type: ignore[no-untyped-call]
    line = [sys.executable, "-c", RUN.format(before=before)]
    done = subprocess.run(line, input=given, capture_output=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    (row,) = pickle.loads(done.stdout)
    return dict(row)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("sys.modules['airflow_ddlrepl'] = None", "has no airflow-ddlrepl"),
        ("import airflow_ddlrepl; airflow_ddlrepl.__version__ = '0.0.1'", "has airflow-ddlrepl 0.0.1, not "),
    ],
)
def test_a_worker_without_our_version_says_so(before: str, said: str) -> None:
    row = run_elsewhere(before)
    assert row["state"] == "mismatch"
    error = version_mismatch(bytes(row["payload"]))  # type: ignore[call-overload]
    assert error.code == "SPK-102"
    assert f"({sys.executable}) {said}" in error.message
    assert airflow_ddlrepl.__version__ in error.hint


def test_a_worker_with_our_version_works() -> None:
    row = run_elsewhere("")
    assert (row["state"], pickle.loads(row["payload"])) == ("done", 9)  # type: ignore[arg-type]


def test_an_unexpected_error_shows_no_password() -> None:
    secrets: list[str] = []
    with pytest.raises(TaskFailed, match=r"(?s)ValueError: can't read postgresql://app:\*\*\*@db/shop") as caught:
        attempt(pack((tasks.tell, SECRET), secrets), secrets)
    assert caught.value.__context__ is None


def test_the_runner_raises_what_a_worker_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = SparkRunner(SparkSettings("local[2]"))
    monkeypatch.setattr(runner, "_run", lambda *_: [("mismatch", b"/opt/python\n")])
    with pytest.raises(DdlReplError, match="SPK-102"):
        runner.map(tasks.square, [1], "squares")


def test_an_image_of_workers_needs_no_airflow() -> None:
    """docs/deployment.md lists the packages that it does need."""
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
