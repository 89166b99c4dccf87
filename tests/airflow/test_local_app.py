"""A local Spark's app with and without spark-submit: one Spark, the same properties; and what it has started ends."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException

from airflow_ddlrepl.operators.base import DdlReplSparkOperator

CHANNEL = """
channel: shop
source: {location: "postgresql://localhost/a", tables: ["*.*"]}
targets: [{name: b, location: "postgresql://localhost/b"}]
spark:
  master: local[2]
  conf: {spark.of.channel: channel, spark.of.both: channel}
"""
TELLS = """
import os, sys
from airflow_ddlrepl.spark_apps.main import main

def job(channel, run, runner):
    numbers = runner.map(abs, [-1, -2], "two tasks")
    session = runner._session
    jvm = session.sparkContext._jvm.java.lang.Runtime.getRuntime()
    names = ("spark.of.channel", "spark.of.both", "spark.of.file", "spark.of.operator", "spark.master",
             "spark.app.name", "spark.ui.enabled")
    told = {name: session.conf.get(name, None) for name in names}
    told["given"] = [one.partition("=")[0] for one in sys.argv[1:]]
    return {**told, "numbers": numbers, "heap": jvm.maxMemory() >> 20, "mine": os.environ.get("MINE")}

sys.exit(main("capture", job))
"""
HANGS = """
import os, sys, time
from airflow_ddlrepl.spark_apps.main import main

def job(channel, run, runner):
    runner.map(abs, [-1, -2], "two tasks")
    print("group", os.getpgid(0), flush=True)
    time.sleep(600)

sys.exit(main("capture", job))
"""

pytestmark = pytest.mark.usefixtures("spark")


class Asked(DdlReplSparkOperator):
    """Runs any app."""

    stage, app, always_runs = "capture", "capture", True


def operator(folder: Path, app: str, **given: Any) -> Asked:
    """Of a task whose app has that text."""
    channel, application = folder / "shop.yaml", folder / "told.py"
    channel.write_text(CHANNEL)
    application.write_text(app)
    return Asked(task_id="told", channel=str(channel), application=str(application), **given)


@pytest.mark.parametrize("how", ["cluster", "always"])
def test_what_spark_submit_gives_the_app_has_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("AIRFLOW__DDLREPL__SPARK_SUBMIT", how)
    file = tmp_path / "mine.properties"
    file.write_text("spark.of.file file\n")
    task = operator(
        tmp_path, TELLS, conf={"spark.of.both": "operator", "spark.of.operator": "a b"}, driver_memory="500m",
        env_vars={"MINE": "yes"}, properties_file=str(file), name="by name",
    )  # fmt: skip
    told = task.execute({"run_id": "manual__1"})
    heap = told.pop("heap")
    assert 400 < heap <= 500
    assert told == {
        "stage": "capture", "channel": "shop", "worked": True, "numbers": [1, 2], "mine": "yes",
        "given": ["--channel", "--run", "--result"],
        "spark.of.channel": "channel", "spark.of.both": "operator", "spark.of.file": "file",
        "spark.of.operator": "a b", "spark.master": "local[2]", "spark.app.name": "by name",
        "spark.ui.enabled": "false",
    }  # fmt: skip


def members(group: int) -> list[str]:
    """The commands of a process group's living processes."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, its_group = (folder / "stat").read_text().rpartition(") ")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def all_end(group: int) -> bool:
    """Do all processes of the group end within some seconds?"""
    end = time.monotonic() + 10
    while (found := members(group)) and time.monotonic() < end:
        time.sleep(0.2)
    return not found


def test_killing_the_task_ends_the_app_and_its_spark(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The app's lines come while it works; when the task is killed neither it nor its JVM stays."""
    task = operator(tmp_path, HANGS)
    ended: list[BaseException] = []

    def execute() -> None:
        try:
            task.execute({"run_id": "manual__1"})
        except AirflowException as error:
            ended.append(error)

    thread = threading.Thread(target=execute, daemon=True)
    thread.start()
    try:
        group = int(line_of(thread, capfd, r"group (\d+)"))
        commands = members(group)
        assert group != os.getpgid(0) and any("java" in command for command in commands), commands
    finally:
        task.on_kill()
    thread.join(30)
    assert ended and not thread.is_alive()
    assert all_end(group)


def line_of(thread: threading.Thread, capfd: pytest.CaptureFixture[str], pattern: str) -> str:
    """What the pattern's group found in the task's log, as soon as it is there."""
    text, end = "", time.monotonic() + 120
    while time.monotonic() < end and thread.is_alive():
        text += capfd.readouterr().out
        if found := re.search(pattern, text):
            return found[1]
        time.sleep(0.2)
    raise AssertionError(text)
