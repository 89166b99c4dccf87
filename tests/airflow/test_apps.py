"""The Spark apps: what they are given, and what they leave when they fail."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.spark_apps.main import main

CHANNEL = '{channel: shop, source: {location: a, tables: ["*.*"]}, targets: [{name: b, location: b}]}'


def test_apps_take_no_secret_as_argument() -> None:
    """What an app is started with: the channel's file, the run and the result's file."""
    code = "from airflow_ddlrepl.spark_apps.main import main; main('capture', None, ['--help'])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout
    assert set(re.findall(r"^  (--\w+)", told, re.MULTILINE)) == {"--channel", "--run", "--result", "--reported"}


def test_an_app_that_fails_unexpectedly_tells_no_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    def job(*_: object) -> dict[str, Any]:
        raise ValueError("postgresql://me:geheim@host/db")

    channel, result = tmp_path / "shop.yaml", tmp_path / "result.json"
    channel.write_text(CHANNEL)
    assert main("capture", job, ["--channel", str(channel), "--run", "one", "--result", str(result)]) == 1
    assert "APP-900" in result.read_text() and "postgresql://me:***@host/db" in caplog.text
    assert "geheim" not in result.read_text() + caplog.text + capsys.readouterr().err


def test_an_app_ends_with_the_spark_submit_that_airflow_kills(tmp_path: Path) -> None:
    """It would hold the channel and write on, without anybody to see it; a hanging one for ever."""
    channel, result = tmp_path / "shop.yaml", tmp_path / "result.json"
    channel.write_text(CHANNEL)
    app = (
        "import os, sys, time; from airflow_ddlrepl.spark_apps.main import main\n"
        "def hang(*_): print(os.getpid(), flush=True); time.sleep(600)\n"
        f"main('capture', hang, ['--channel', {str(channel)!r}, '--run', 'one', '--result', {str(result)!r}])"
    )
    submit = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {app!r}])"
    environment = {**os.environ, "PYSPARK_GATEWAY_PORT": "1"}
    with subprocess.Popen([sys.executable, "-c", submit], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        number = int(parent.stdout.readline())
        parent.kill()
        try:
            parent.communicate(timeout=30)  # the app has the pipe, too
        except subprocess.TimeoutExpired:
            os.kill(number, signal.SIGKILL)
            raise
    assert not result.exists()
