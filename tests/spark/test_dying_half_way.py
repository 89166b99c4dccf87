"""Half way through work on a cluster the driver dies, the Connect server dies, the object store fails: made good."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
from s3fs import S3FileSystem

from tests.conftest import Databases
from tests.spark.support.cluster import Cluster
from tests.spark.support.connect_server import ConnectServer
from tests.spark.support.failing_store import FailingStore
from tests.spark.test_cluster import CAPTURING, MINE, ROWS, Shop, held, shop
from tests.support.replica import run
from tests.trail.test_trail import object_store

__all__ = ["object_store"]

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def store(object_store: str) -> Iterator[FailingStore]:
    with FailingStore(os.environ["AWS_ENDPOINT_URL"]) as door:
        yield door


@pytest.fixture(scope="module")
def cluster(store: FailingStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    machines = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    machines |= {"AWS_ENDPOINT_URL": store.url, "AWS_MAX_ATTEMPTS": "1"}
    with Cluster(tmp_path_factory.mktemp("cluster"), machines) as started:
        yield started


@pytest.fixture
def replica(cluster: Cluster, databases: Databases, tmp_path: Path, object_store: str) -> Shop:
    """An active channel with more to capture than one range of log."""
    found = shop(cluster, databases, tmp_path, f"{object_store}/{tmp_path.name}")
    run(found.source, "CREATE TABLE big (id int, note text)", "INSERT INTO big VALUES (0, 'first'), (0, 'first')")
    found.activate()
    run(found.source, ROWS.format(table="big", first=1), "ALTER TABLE big ADD more int DEFAULT 7")
    return found


@contextmanager
def in_the_middle(dsn: str, does: str) -> Iterator[None]:
    """Waits for a session at the server that does this; it stands still until the block ends."""
    query = f"SELECT pid FROM pg_stat_activity WHERE {MINE} AND {does}".encode()
    deadline = time.monotonic() + 120
    with psycopg.connect(dsn, autocommit=True) as connection:
        while time.monotonic() < deadline:
            for (pid,) in connection.execute(query).fetchall():
                with held(pid):
                    yield
                    return
            time.sleep(0.002)
    raise TimeoutError(f"no session was seen where {does}")


def temporary_slots(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        (found,) = connection.execute("SELECT count(*) FROM pg_replication_slots WHERE temporary").fetchone() or (0,)
    return int(found)


@pytest.mark.req("DC-09")
def test_the_driver_dies(replica: Shop) -> None:
    """Its process and its JVM, while the workers capture. The next run misses nothing."""
    running = replica.start("replicate")
    with in_the_middle(replica.source, CAPTURING):
        driver = psutil.Process(running.pid)
        for one in [driver, *driver.children(recursive=True)]:
            one.kill()
        assert running.wait(60) == -9
    deadline = time.monotonic() + 60
    while temporary_slots(replica.source) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert temporary_slots(replica.source) == 0
    replica.ddlrepl("replicate")
    replica.check_equal()


def test_the_connect_server_dies(replica: Shop, tmp_path: Path) -> None:
    """The run ends with an error that names the server; the next one, at another server, misses nothing."""
    line = ["-m", "airflow_ddlrepl.cli", "replicate", str(replica.file), "--master"]
    machine = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    with ConnectServer(tmp_path, environment=machine) as server:
        running = replica._start([*line, server.url])
        with in_the_middle(replica.source, CAPTURING):
            server.kill()
            assert running.wait(240) != 0
    said = (tmp_path / "said.txt").read_text()
    assert "CON-130: no Spark Connect server answers" in said and "Traceback" not in said, said
    with ConnectServer(tmp_path, environment=machine) as server:
        replica.finish(replica._start([*line, server.url]))
    replica.check_equal()


def test_the_object_store_fails(replica: Shop, store: FailingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some files of a capture by the workers: nothing was confirmed, and the next run makes it good."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.url)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    store.good_for = 3
    running = replica.start("replicate")
    assert running.wait(240) != 0
    said = (replica.folder / "said.txt").read_text()
    assert store.refused and "Traceback" not in said, said[-3000:]
    assert "CON-" in said
    store.good_for = None
    S3FileSystem.clear_instance_cache()
    replica.ddlrepl("replicate")
    replica.check_equal()
