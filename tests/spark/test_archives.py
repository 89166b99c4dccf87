"""Spark's archives of pyspark: read where nothing else is there, and never more often than needed."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from zipimport import zipimporter

import pyspark
import pytest

from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.session import python_archives
from airflow_ddlrepl.spark.session.settings import SparkSettings
from tests.spark.support import tasks

HOME = Path(pyspark.__file__).parent
OURS = [str(HOME / "python/lib/pyspark.zip"), *map(str, HOME.glob("jars/spark-core_*.jar"))]


@pytest.mark.xdist_group("spark")
def test_workers_read_pyspark_from_its_files(runner: SparkRunner) -> None:
    python = {f"python{sys.version_info.major}{sys.version_info.minor}.zip"}  # on every path, and not there
    for found in runner.map(tasks.archives_in_sight, [1, 2, 3, 4], "who"):
        assert {Path(place).name for place in found} <= python


@pytest.mark.xdist_group("spark")
def test_what_the_first_task_has_imported_is_not_looked_at_after_the_others(runner: SparkRunner) -> None:
    assert any(runner.map(tasks.passed_over, [1, 2, 3, 4, 5], "who"))


def test_after_a_task_no_archive_of_sparks_is_listed_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = tmp_path / "mine.zip"
    with zipfile.ZipFile(mine, "w") as archive:
        archive.writestr("of_mine.py", "")
    finders = {place: zipimporter(place) for place in (*OURS, f"{OURS[0]}/pyspark", str(mine))}
    monkeypatch.setattr(sys, "path_importer_cache", {**finders, "/somewhere": None})
    python_archives.forget_archives()
    assert set(sys.path_importer_cache) == {str(mine), "/somewhere"}


def test_archives_of_the_installed_spark_leave_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = list(sys.path)
    monkeypatch.setattr(sys, "path", [*OURS, *plain])
    python_archives.prefer_installed()
    assert sys.path == plain


def test_archives_of_another_spark_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    path = ["/opt/spark/python/lib/pyspark.zip", *sys.path]
    monkeypatch.setattr(sys, "path", list(path))
    python_archives.prefer_installed()
    assert sys.path == path


def test_archives_stay_where_no_pyspark_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [OURS[0], str(tmp_path)])
    python_archives.prefer_installed()
    assert sys.path == [OURS[0], str(tmp_path)]


def test_another_python_of_the_users_forks_its_workers_itself() -> None:
    name = "spark.python.daemon.module"
    assert SparkSettings().properties()[name] == "airflow_ddlrepl.spark.execute.worker_daemon"
    assert name not in SparkSettings(conf={"spark.pyspark.python": "/opt/python/bin/python3"}).properties()
    assert name not in SparkSettings("spark://there:7077").properties()
