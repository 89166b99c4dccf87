"""A Hive metastore of a test's own, from the jars that Spark brings, on a Derby database in a folder."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from airflow_ddlrepl import java

SECONDS = 300
OPENED = ("java.lang", "java.lang.invoke", "java.util", "java.util.concurrent", "java.net", "java.nio", "java.io")
SETTINGS = {
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    "hive.metastore.schema.verification.record.version": "false",
    "hive.in.tez.test": "true",  # so it makes the tables of locks, too
    "hive.async.log.enabled": "false",
    "datanucleus.connectionPoolingType": "HikariCP",
}


@dataclass
class Metastore:
    """A metastore in a process of its own."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"


@contextmanager
def metastore(folder: Path) -> Iterator[Metastore]:
    """A metastore with no table."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/derby;create=true",
        "hive.metastore.warehouse.dir": f"{folder}/hive",
        "hive.exec.scratchdir": f"{folder}/scratch",
    }
    jars = Path(pyspark.__file__).parent / "jars"
    command = [f"{java.home()}/bin/java", "-Xmx384m", "-XX:TieredStopAtLevel=1"]
    command += [f"-Dderby.system.home={folder}", f"-Dhive.log.dir={folder}"]
    command += [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED]
    command += ["-cp", f"{jars}/*", "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]
    for name, value in {**SETTINGS, **own}.items():
        command += ["--hiveconf", f"{name}={value}"]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    found = Metastore(folder, port, process)
    try:
        until = time.monotonic() + SECONDS
        while not _answers(port):
            assert process.poll() is None and time.monotonic() < until, (folder / "log").read_text()[-3000:]
            time.sleep(0.2)
        yield found
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False
