"""What travels to Spark's workers, and what they say when they can't use it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import traceback
from pathlib import Path

import pyarrow
import pytest
from pyspark.cloudpickle import dumps

import airflow_ddlrepl
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.execute.task_pickle import pack, unpack
from airflow_ddlrepl.spark.execute.worker import LACKING, TaskFailed, attempt, in_arrow, work
from airflow_ddlrepl.spark.execute.worker_python import lacks_package, other_version, unfit_python
from airflow_ddlrepl.spark.session.settings import SparkSettings
from tests.spark.support import tasks

SECRET = "postgresql://app:marker%21pass@db/shop"
ROOT = Path(__file__).parents[2]
DRIVERS_ONLY = ("airflow", "sqlalchemy", "alembic", "sqlglot", "yaml", "pendulum", "typer", "rich", "py4j", "grpc")
IMPORTS = f"""
import importlib, sys
for name in {DRIVERS_ONLY}:
    sys.modules[name] = None
for name in ("log.read_range", "load.load_chunk", "load.swap", "merge.stage", "compare.digest"):
    importlib.import_module("airflow_ddlrepl.engines.postgres." + name)
import airflow_ddlrepl.capture.write_range
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
    given = dumps((in_arrow(work([])), rows))  # type: ignore[no-untyped-call]
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
    error = other_version(bytes(row["payload"]), is_connect=False)  # type: ignore[call-overload]
    assert error.code == "SPK-102"
    assert f"({sys.executable}) {said}" in error.message
    assert airflow_ddlrepl.__version__ in error.hint


def test_a_worker_without_a_package_of_ours_says_so() -> None:
    """Also where it lacks what our own modules import."""
    row = run_elsewhere("sys.modules['airflow_ddlrepl.spark.execute.task_pickle'] = None")
    assert row["state"] == LACKING
    error = lacks_package(bytes(row["payload"]), is_connect=True)  # type: ignore[call-overload]
    assert "airflow_ddlrepl.spark.execute.task_pickle" in error.message and "PYSPARK_PYTHON" in error.hint


def test_a_failed_import_of_a_task_is_a_value() -> None:
    state, payload = attempt(pack((tasks.import_nothing, 0), []), [])
    assert state == LACKING
    assert "No module named 'no_such_package'" in lacks_package(payload, is_connect=False).message


REPORTS = {
    "Traceback (most recent call last):\n  import x\nModuleNotFoundError: No module named 'pyarrow'\n": "pyarrow",
    'SparkException: Job aborted: Cannot run program "/opt/none": error=2, No such file or directory': "/opt/none",
    "Error from python worker:\n  /usr/bin/python3: No module named pyspark\nPYTHONPATH was:": "/usr/bin/python3",
    "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11": "3.9",
}


@pytest.mark.parametrize("report", REPORTS)
def test_a_python_that_starts_no_task(report: str) -> None:
    error = unfit_python(report, is_connect=False)
    assert error is not None and error.code == "SPK-102" and REPORTS[report] in error.message
    assert "spark.pyspark.python" in error.hint


def test_what_a_row_says_is_no_missing_package() -> None:
    """The report of a failed task holds what its rows hold."""
    with pytest.raises(TaskFailed) as caught:
        attempt(pack((tasks.tell, "\nModuleNotFoundError: No module named 'x'"), []), [])
    trace = "".join(traceback.format_exception(caught.value))
    assert "ModuleNotFoundError: No module named 'x'" in trace
    assert unfit_python(trace, is_connect=False) is None


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
    monkeypatch.setattr(runner, "_started", lambda: None)
    monkeypatch.setattr(runner, "_run", lambda *_: [("mismatch", b"/opt/python\n")])
    with pytest.raises(DdlReplError, match="SPK-102"):
        runner.map(tasks.square, [1], "squares")


def test_an_image_of_workers_needs_no_airflow() -> None:
    """docs/deployment.md lists the packages that it does need."""
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
