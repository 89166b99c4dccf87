"""The product on a standalone cluster with two workers: work on both, one of them killed half way, no secret shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import pytest
import yaml

from tests.conftest import Databases
from tests.spark.support.cluster import Cluster
from tests.spark.support.spark_evidence import App, Spy, apps, event_log, files_with
from tests.support.replica import Replica, channel_file, run
from tests.trail.test_trail import object_store

__all__ = ["object_store"]

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
MINE = "datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'"
CAPTURING = "application_name = 'ddlrepl capture' AND query LIKE '%pg_logical_slot_peek_binary_changes%'"
KEY = "k3y-of-the-object-store"
# 24,000 rows of 1.5 kB that zstd can't make small: more than one range of log, more than one chunk of table.
ROWS = """
INSERT INTO {table} SELECT i, (SELECT string_agg(encode(sha512((i || '/' || n)::bytea), 'hex'), '')
FROM generate_series(1, 12) n) FROM generate_series({first}, {first} + 23999) i
"""


@pytest.fixture(scope="module")
def cluster(object_store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Its machines can reach the object store, and have the product installed; its path alone is ours."""
    machines = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    with Cluster(tmp_path_factory.mktemp("cluster"), machines) as started:
        yield started


@dataclass
class Shop(Replica):
    """A channel whose Spark is the cluster. folder: for its state and the events of its apps."""

    cluster: Cluster
    folder: Path

    def ddlrepl(self, *arguments: str) -> None:
        self.finish(self.start(*arguments))

    def start(self, command: str, *options: str) -> subprocess.Popen[str]:
        line = ["-m", "airflow_ddlrepl.cli", command, str(self.file), "--master", self.cluster.master, *options]
        return self._start(line)

    def operators(self, *stages: str) -> None:
        """One after the other, each a Spark app of its own, at the cluster of an Airflow connection."""
        host, _, port = self.cluster.master.rpartition(":")
        connection = json.dumps({"conn_type": "spark", "host": host, "port": int(port)})
        home = str(self.folder / "airflow")
        line = ["-m", "tests.spark.support.operate", str(self.file), *stages]
        self.finish(self._start(line, AIRFLOW_CONN_SPARK_PLACE=connection, AIRFLOW_HOME=home))

    def _start(self, line: list[str], **more: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **more}
        with (self.folder / "said.txt").open("a") as said:
            return subprocess.Popen(
                [sys.executable, *line], cwd=ROOT, env=environment, stdout=said, stderr=subprocess.STDOUT, text=True
            )

    def finish(self, process: subprocess.Popen[str]) -> None:
        code = process.wait(240)
        assert code == 0, (self.folder / "said.txt").read_text()[-6000:]

    def apps(self) -> list[App]:
        return apps(self.folder / "events")

    def workers(self, app: App, label: str) -> set[str]:
        """The workers on which tasks of that description succeeded."""
        executors = app.executors(label)
        return {w.folder.name for w in self.cluster.workers for e in executors if (w.folder / app.id / e).is_dir()}

    def kill_the_one_that(self, dsn: str, does: str) -> str:
        """Waits for a session of a worker's task at the server that does this; kills that worker. Its name."""
        query = f"SELECT pid, client_port FROM pg_stat_activity WHERE {MINE} AND {does}".encode()
        deadline = time.monotonic() + 120
        with psycopg.connect(dsn, autocommit=True) as connection:
            while time.monotonic() < deadline:
                for pid, port in connection.execute(query).fetchall():
                    with held(pid):
                        worker = next((one for one in self.cluster.workers if one.holds(port)), None)
                        if worker is not None:
                            worker.kill()
                            return worker.folder.name
                time.sleep(0.002)
        raise TimeoutError(f"no task of a worker was seen where {does}")


@contextmanager
def held(pid: int) -> Iterator[None]:
    """The server's process stands still: the task that waits for its answer can't end meanwhile."""
    try:
        backend = psutil.Process(pid)
        backend.suspend()
    except psutil.NoSuchProcess:
        yield
        return
    try:
        yield
    finally:
        backend.resume()


@contextmanager
def held_before_commit(dsn: str) -> Iterator[None]:
    """Chunks are loaded, and none is committed, until the block ends."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(77)")
        connection.execute(
            "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql"
            " AS 'BEGIN PERFORM pg_advisory_lock_shared(77); RETURN NEW; END'"
        )
        connection.execute("CREATE TRIGGER wait BEFORE UPDATE ON ddlrepl.chunks FOR EACH ROW EXECUTE FUNCTION wait()")
        yield


def shop(cluster: Cluster, databases: Databases, folder: Path, trail: str) -> Shop:
    conf = {**cluster.properties(), **event_log(folder / "events"), "spark.hadoop.fs.s3a.secret.key": KEY}
    file = channel_file(folder, databases.source, databases.target, trail=trail, spark={"conf": conf})
    assert yaml.safe_load(file.read_text())["trail"] == trail
    return Shop(databases.source, databases.target, file, cluster, folder)


@pytest.mark.req("DC-01", "DC-09")
def test_operators_on_a_cluster(cluster: Cluster, databases: Databases, tmp_path: Path) -> None:
    """Trail in a folder that all share; a key and a password that nobody else may see. A table is staged by both."""
    replica = shop(cluster, databases, tmp_path, (tmp_path / "trail").as_uri())
    run(replica.source, "CREATE TABLE big (id int PRIMARY KEY, note text)", ROWS.format(table="big", first=1))
    run(replica.source, "CREATE TABLE many (id int PRIMARY KEY, note text)")
    with Spy() as spy:
        replica.ddlrepl("activate")
        run(replica.source, "INSERT INTO many SELECT i, md5(i::text) FROM generate_series(1, 300000) i")
        replica.operators("capture", "integrate")
    replica.check_equal()
    activated, captured, integrated = replica.apps()
    assert replica.workers(activated, "refresh") == {"worker-0", "worker-1"}
    assert replica.workers(captured, "capture") == {"worker-0", "worker-1"}
    assert replica.workers(integrated, "integrate into warehouse") == {"worker-0", "worker-1"}
    for secret in (databases.server.password, KEY):
        assert list(files_with(secret, cluster.folder, tmp_path / "events")) == []
        assert [line for line in spy.seen if secret in line] == []
        assert secret not in (tmp_path / "said.txt").read_text()
    assert any("CoarseGrainedExecutorBackend" in line for line in spy.seen)


@pytest.mark.req("DC-09")
def test_a_worker_dies(cluster: Cluster, databases: Databases, tmp_path: Path, object_store: str) -> None:
    """Half way through a capture into an object store, then half way through a refresh; a table without a key."""
    replica = shop(cluster, databases, tmp_path, f"{object_store}/{tmp_path.name}")
    run(replica.source, "CREATE TABLE big (id int, note text)", "INSERT INTO big VALUES (0, 'first'), (0, 'first')")
    replica.activate()
    run(replica.source, ROWS.format(table="big", first=1), "ALTER TABLE big ADD more int DEFAULT 7")
    running = replica.start("replicate")
    dead = replica.kill_the_one_that(replica.source, CAPTURING)
    replica.finish(running)
    replica.check_equal()
    cluster.settle()
    (replicated,) = replica.apps()
    assert "ExecutorLostFailure" in replicated.failures("capture")
    assert replica.workers(replicated, "capture") - {dead}

    with held_before_commit(replica.target):
        running = replica.start("refresh", "--table", "*.*")
        dead = replica.kill_the_one_that(replica.target, "wait_event = 'advisory'")
    replica.finish(running)
    replica.check_equal()
    cluster.settle()
    _, refreshed = replica.apps()
    assert "ExecutorLostFailure" in refreshed.failures("refresh")
    assert replica.workers(refreshed, "refresh") - {dead}
