"""A warm session: the command line and the operators at a running Spark Connect server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl.errors import ConfigError, DdlReplError, Unreachable
from airflow_ddlrepl.spark.session.connect_server import connect
from tests.conftest import Databases
from tests.spark.support.connect_server import ConnectServer
from tests.spark.support.spark_evidence import apps, event_log, files_with
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
# A thousand changes whose log is more than a runner does without Spark.
CHANGES = """INSERT INTO t SELECT i, (SELECT string_agg(md5(i::text || n::text), '') FROM generate_series(1, 400) n)
FROM generate_series({first}, {first} + 999) i"""


@pytest.fixture(scope="module")
def server(spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    folder = tmp_path_factory.mktemp("connect")
    with ConnectServer(folder, event_log(folder / "events")) as started:
        yield started


@pytest.fixture
def replica(databases: Databases, tmp_path: Path) -> Replica:
    file = channel_file(tmp_path, databases.source, databases.target)
    found = Replica(databases.source, databases.target, file)
    found.at_source("CREATE TABLE t (id int PRIMARY KEY, note text)")
    found.activate()
    return found


def python(*line: str, **environment: str) -> str:
    """What that Python says; it must succeed."""
    env = {**os.environ, **environment}
    done = subprocess.run([sys.executable, *line], cwd=ROOT, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def tasks_so_far(server: ConnectServer) -> int:
    (app,) = apps(server.folder / "events")
    return sum(len(tasks) for tasks in app.tasks.values())


def test_the_command_line_and_an_operator(server: ConnectServer, replica: Replica, databases: Databases) -> None:
    for first in (1, 2001):
        replica.at_source(CHANGES.format(first=first))
        before, start = tasks_so_far(server), time.monotonic()
        said = python("-m", "airflow_ddlrepl.cli", "replicate", str(replica.file), "--master", server.url)
        print(f"\n1,000 changes at a Spark Connect server: {time.monotonic() - start:.1f} s from the command line on")
        assert "Spark 4" in said and tasks_so_far(server) > before
        replica.check_equal()

    replica.at_source(CHANGES.format(first=4001))
    before = tasks_so_far(server)
    connection = json.dumps({"conn_type": "spark_connect", "host": "127.0.0.1", "port": server.port})
    home = str(replica.file.parent / "airflow")
    line = ("-m", "tests.spark.support.operate", str(replica.file), "capture", "integrate")
    said = python(*line, AIRFLOW_CONN_SPARK_PLACE=connection, AIRFLOW_HOME=home)
    assert said.count('"worked": true') == 2
    assert "spark-submit" not in said.lower()
    assert tasks_so_far(server) > before
    replica.check_equal()
    assert list(files_with(databases.server.password, server.folder)) == []


def test_another_spark_there(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "3.5.9")
    with pytest.raises(DdlReplError, match=r"SPK-103: the Spark Connect server .* runs Spark 4\.\S+, here is 3\.5\.9"):
        connect(server.url)


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(Unreachable, match=rf"CON-130: no Spark Connect server answers at 127.0.0.1:{port}: ") as caught:
        connect(f"sc://127.0.0.1:{port}/;token=s3cret")
    assert "docs/deployment.md" in caught.value.hint


def test_somebody_else_there() -> None:
    """It takes the connection and hangs up: some other server."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        threading.Thread(target=hang_up, args=(other,), daemon=True).start()
        with pytest.raises(Unreachable, match=r"CON-130: the Spark Connect server at .* refuses: ") as caught:
            connect(f"sc://127.0.0.1:{other.getsockname()[1]}/;token=s3cret")
    assert "s3cret" not in str(caught.value)


def hang_up(server: socket.socket) -> None:
    while True:
        try:
            server.accept()[0].close()
        except OSError:
            return


@pytest.mark.parametrize("url", ["sc://", "sc://host:port"])
def test_no_such_url(url: str) -> None:
    with pytest.raises(ConfigError, match="CFG-408"):
        connect(url)
