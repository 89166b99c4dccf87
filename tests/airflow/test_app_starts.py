"""How the operators start an app: as a Python process or by spark-submit, and what it is given."""
# ruff: noqa: F811 - a fixture's name is a parameter of the tests that use it

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_ddlrepl.hooks.spark_place import SparkPlace
from airflow_ddlrepl.operators import base
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.spark.session.settings import CONF_FILE, PROPERTIES_FILE, STARTED_BY, SparkSettings
from tests.airflow.test_operators import SECRET, Submitted, channel, leaves, run, submitted  # noqa: F401 - two fixtures


def test_without_a_spark_connection_python_starts_the_app(
    channel: str, submitted: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What spark-submit would be given is a file that only the app may read."""
    monkeypatch.setenv("DDLREPL_SPARK_REMOTE", "sc://elsewhere")
    monkeypatch.setattr(base, "spark_place", lambda *_: SparkPlace("", "local[2]"))
    submitted.outcome = leaves()
    given: dict[str, Any] = {"conf": {"spark.hadoop.token": SECRET}, "driver_memory": "2g", "env_vars": {"MINE": "1"}}
    run(CaptureOperator, channel, jars="/a.jar", packages="org:lib:1", properties_file="/mine.conf", **given)
    assert submitted.command[0] == sys.executable and submitted.command[1].endswith("spark_apps/capture.py")
    assert SECRET not in " ".join(submitted.command)
    assert submitted.conf == {
        "spark.hadoop.token": SECRET, "spark.driver.memory": "2g", "spark.jars": "/a.jar",
        "spark.jars.packages": "org:lib:1", "spark.app.name": "ddlrepl capture",
    }  # fmt: skip
    assert submitted.conf_mode == 0o600 and not Path(submitted.environment[CONF_FILE]).exists()
    wanted = {
        "DDLREPL_SPARK_MASTER": "local[2]", "DDLREPL_SPARK_REMOTE": "", "MINE": "1", PROPERTIES_FILE: "/mine.conf",
        STARTED_BY: str(os.getpid()),
    }  # fmt: skip
    assert {name: submitted.environment[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    "given",
    [
        {"py_files": "/lib.zip"}, {"proxy_user": "anna"}, {"verbose": True},
        {"conf": {"spark.submit.pyFiles": "/lib.zip"}}, {"conf": {"spark.pyspark.driver.python": "/bin/python3"}},
        {"spark_binary": "/opt/spark-submit"},
    ],
)  # fmt: skip
def test_what_only_spark_submit_honours_is_submitted(channel: str, submitted: Submitted, given: dict[str, Any]) -> None:
    submitted.outcome = leaves()
    run(CaptureOperator, channel, **given)
    assert submitted.command[0].endswith("spark-submit")


def test_a_local_connection_that_only_spark_submit_honours(
    channel: str, submitted: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted.outcome = leaves()
    started = {}
    for extra in ({"deploy-mode": "client"}, {"queue": "night"}):
        told = {"conn_type": "spark", "host": "local[2]", "extra": json.dumps(extra)}
        monkeypatch.setenv("AIRFLOW_CONN_HERE", json.dumps(told))
        run(CaptureOperator, channel, conn_id="here")
        started[str(*extra)] = submitted.command[0]
    assert started["deploy-mode"] == sys.executable and started["queue"].endswith("spark-submit")


def test_another_word_for_spark_submit_is_refused(
    channel: str, submitted: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DDLREPL__SPARK_SUBMIT", "never")
    with pytest.raises(AirflowFailException, match=r"CFG-406.*'never'"):
        run(CaptureOperator, channel)


def test_a_site_that_wants_spark_submit_has_it_here(
    channel: str, submitted: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DDLREPL__SPARK_SUBMIT", "always")
    submitted.outcome = leaves()
    run(CaptureOperator, channel)
    assert submitted.option("--master") == "local[*]"
    assert Path(submitted.command[0]).parts[-3:] == ("pyspark", "bin", "spark-submit")
    assert submitted.environment["JAVA_HOME"]
    assert "spark.hadoop.fs.s3a.secret.key==k3y\n" in submitted.properties
    assert not [word for word in submitted.command if word.startswith("spark.driver.memory=")]


def test_a_spark_connection_is_obeyed(channel: str, submitted: Submitted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", '{"conn_type": "spark", "host": "spark://there", "port": 7077}')
    submitted.outcome = leaves()
    run(CaptureOperator, channel, conn_id="cluster", conf={"spark.executor.memory": "2g"})
    assert submitted.option("--master") == "spark://there:7077"
    assert "spark.executor.memory=2g" in submitted.command
    assert not [word for word in submitted.command if word.startswith("spark.pyspark.python=")]


def test_jars_of_the_operator_are_beside_those_that_a_target_needs(
    channel: str, submitted: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", '{"conn_type": "spark", "host": "spark://there", "port": 7077}')
    monkeypatch.setattr(SparkSettings, "of_engines", lambda _: {"spark.jars": "ours.jar", "spark.sql.extensions": "O"})
    submitted.outcome = leaves()
    conf = {"spark.jars": "theirs.jar", "spark.executor.memory": "2g"}
    run(CaptureOperator, channel, conn_id="cluster", conf=conf)
    assert {"spark.jars=ours.jar,theirs.jar", "spark.executor.memory=2g"} <= {*submitted.command}
    assert "spark.sql.extensions=O\n" in submitted.properties and "extensions" not in " ".join(submitted.command)
    run(CaptureOperator, channel, conn_id="cluster", jars="more.jar")
    assert submitted.option("--jars") == "ours.jar,more.jar"


@pytest.mark.parametrize("place", ["cluster", None])
def test_defaults_of_a_clusters_spark_hold(
    channel: str, submitted: Submitted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str | None
) -> None:
    """As without `conf` in the channel file. A local Spark is ours, and has none."""
    monkeypatch.setenv("AIRFLOW__DDLREPL__SPARK_SUBMIT", "always")
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", '{"conn_type": "spark", "host": "spark://there", "port": 7077}')
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    for folder, kind in (("conf", "home"), ("here", "here")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "spark-defaults.conf").write_text(f"spark.of {kind}")
    monkeypatch.chdir(tmp_path / "here")
    submitted.outcome = leaves()
    run(CaptureOperator, channel, conn_id=place)
    assert re.findall("spark.of (.*)", submitted.properties) == (["home"] if place else [])
