"""Workers with a Python of their own, as docs/deployment.md sets it up; and with one that lacks packages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from airflow_ddlrepl.spark.session.settings import PYTHON
from tests.conftest import Databases
from tests.spark.support.cluster import Cluster
from tests.spark.support.connect_server import ConnectServer
from tests.spark.support.own_python import PAGE, documented_packages, own_python
from tests.spark.support.spark_evidence import Spy
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
ROWS = """INSERT INTO t SELECT i, (SELECT string_agg(encode(sha512((i || '/' || n)::bytea), 'hex'), '')
FROM generate_series(1, 12) n) FROM generate_series({first}, {first} + 7999) i"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Its machines have no other Python on their PATH than the system's."""
    with Cluster(tmp_path_factory.mktemp("cluster"), {"PATH": "/usr/bin:/bin"}) as started:
        yield started


@pytest.fixture(scope="module")
def workers_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    return own_python(tmp_path_factory.mktemp("documented") / "ddlrepl", documented_packages())


def documented(cluster: Cluster, python: str) -> dict[str, Any]:
    """The section `spark` that the page shows for a standalone cluster, at this cluster, in this size."""
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (section,) = [found for found in (yaml.safe_load(block)["spark"] for block in blocks) if "master" in found]
    assert section["conf"][PYTHON].startswith("/opt/ddlrepl/")
    small = {name: value for name, value in cluster.properties().items() if name != PYTHON}
    conf = {**section["conf"], **small, PYTHON: python, "spark.executor.memoryOverhead": "256m"}
    return {"master": cluster.master, "conf": conf}


def replica_of(databases: Databases, folder: Path, spark: dict[str, Any] | None = None) -> Replica:
    file = channel_file(folder, databases.source, databases.target, **({"spark": spark} if spark else {}))
    found = Replica(databases.source, databases.target, file)
    found.at_source("CREATE TABLE t (id int PRIMARY KEY, note text)", ROWS.format(first=1))
    return found


def ddlrepl(replica: Replica, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "airflow_ddlrepl.cli", command, str(replica.file), *options]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


def operators(cluster: Cluster, replica: Replica, *stages: str) -> subprocess.CompletedProcess[str]:
    """The operators, at an Airflow connection as the page adds it."""
    host, _, port = cluster.master.rpartition(":")
    connection = json.dumps({"conn_type": "spark", "host": host, "port": int(port)})
    home = str(replica.file.parent / "airflow")
    environment = {**os.environ, "AIRFLOW_CONN_SPARK_PLACE": connection, "AIRFLOW_HOME": home}
    environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    line = [sys.executable, "-m", "tests.spark.support.operate", str(replica.file), *stages]
    return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


def works(replica: Replica, *options: str) -> None:
    for command, change in (("activate", ROWS.format(first=10_001)), ("replicate", "UPDATE t SET id = -id")):
        done = ddlrepl(replica, command, *options)
        assert done.returncode == 0, done.stdout + done.stderr
        replica.at_source(change)
    assert ddlrepl(replica, "replicate", *options).returncode == 0
    replica.check_equal()


def slots(replica: Replica) -> list[tuple[Any, ...]]:
    made = "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
    with psycopg.connect(replica.source) as connection:
        return connection.execute(f"{made} UNION ALL SELECT pubname FROM pg_publication".encode()).fetchall()


@pytest.mark.req("DC-01")
def test_the_documented_settings_of_a_standalone_cluster(
    cluster: Cluster, workers_python: str, databases: Databases, tmp_path: Path
) -> None:
    replica = replica_of(databases, tmp_path, documented(cluster, workers_python))
    with Spy() as spy:
        works(replica)
    assert any(line.startswith(f"{workers_python} -m pyspark.daemon") for line in spy.seen)

    replica.at_source(ROWS.format(first=20_001))
    done = operators(cluster, replica, "capture", "integrate")
    assert done.returncode == 0, done.stdout + done.stderr
    replica.check_equal()


def test_the_documented_spark_connect_in_front_of_the_cluster(
    cluster: Cluster, workers_python: str, databases: Databases, tmp_path: Path
) -> None:
    conf = {name: value for name, value in cluster.properties().items() if name != PYTHON}
    replica = replica_of(databases, tmp_path)
    with ConnectServer(tmp_path, conf, workers_python, master=cluster.master) as server, Spy() as spy:
        works(replica, "--master", server.url)
    assert any(line.startswith(f"{workers_python} -m pyspark.daemon") for line in spy.seen)


LACKS = {
    "no packages at all": (None, "pyarrow"),
    "no product": (documented_packages(), "airflow-ddlrepl"),
    "no driver": ([one for one in documented_packages() if not one.startswith("psycopg")], "psycopg"),
    "no Python": ((), "is not there"),
}


def python_that_lacks(what: str, folder: Path) -> str:
    packages, _ = LACKS[what]
    if packages == ():
        return str(folder / "nothing/bin/python")
    return own_python(folder / "poor", packages or (), with_product=what == "no driver")


@pytest.mark.parametrize("what", LACKS)
def test_a_cluster_that_lacks_the_packages(cluster: Cluster, databases: Databases, tmp_path: Path, what: str) -> None:
    """It is told before anything is made at the source, in one error without traces."""
    python = python_that_lacks(what, tmp_path)
    replica = replica_of(databases, tmp_path, documented(cluster, python))
    done = ddlrepl(replica, "activate")
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "SPK-102: the Python of Spark's workers" in said
    assert LACKS[what][1] in said and "set spark.pyspark.python under `spark: conf:`" in said
    assert "Traceback" not in said and len(said.splitlines()) < 20, said
    assert slots(replica) == []


def test_a_task_at_a_cluster_that_lacks_the_packages(cluster: Cluster, databases: Databases, tmp_path: Path) -> None:
    """The channel is active, and its cluster loses its packages: the task fails with what helps."""
    replica = replica_of(databases, tmp_path, documented(cluster, python_that_lacks("no product", tmp_path)))
    replica.activate()
    replica.at_source(ROWS.format(first=10_001))
    done = operators(cluster, replica, "capture")
    assert done.returncode != 0
    assert "SPK-102: the Python of Spark's workers" in done.stdout + done.stderr
    assert "SPK-101" not in done.stdout + done.stderr


def test_a_connect_server_whose_python_lacks_the_packages(databases: Databases, tmp_path: Path) -> None:
    """The setting that helps is another one there."""
    replica = replica_of(databases, tmp_path)
    python = python_that_lacks("no packages at all", tmp_path)
    with ConnectServer(tmp_path, python=python) as server:
        done = ddlrepl(replica, "activate", "--master", server.url)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "SPK-102" in said and "PYSPARK_PYTHON in its environment" in said
    assert "Traceback" not in said and len(said.splitlines()) < 20, said
    assert slots(replica) == []
