"""A REST server of a test's own: Iceberg's reference server, from its test fixtures, on a catalog in an SQLite file."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pyspark
import pytest

from airflow_ddlrepl import java
from airflow_ddlrepl.engines.lake.connection.jars import jar_folder, jars
from airflow_ddlrepl.model.names import TableName
from tests.support.lakes.reader import rows_at
from tests.support.lakes.store import BUCKET, KEY, REGION, SECRET, Store
from tests.support.lakes.warm_spark import warm_runner

POM = Path(__file__).with_name("rest_server.pom.xml")
SECONDS = 90


@dataclass
class Rest:
    """A server. It can be stopped and started again, and has what it had. store: of the files; None: a folder."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    store: Store | None = None

    @classmethod
    def free(cls, folder: Path) -> Rest:
        """A server that has not started yet, for a port that nobody has."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return cls(folder, free.getsockname()[1])

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def settings(self) -> str:
        """What the location of a lake says of it."""
        return f"catalog=rest&uri={self.uri}"

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "CATALOG_REST_PORT": str(self.port),
            "CATALOG_URI": f"jdbc:sqlite:{self.folder}/catalog.db",
            "CATALOG_WAREHOUSE": f"{self.folder}/warehouse",
            "CATALOG_JDBC_SCHEMA__VERSION": "V1",  # it can have views
            **(_in_store(self.store) if self.store else {}),
        }
        command = [
            f"{java.home()}/bin/java",
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            _class_path(in_store=self.store is not None),
        ]
        with (self.folder / "log").open("ab") as log:
            server = [*command, "org.apache.iceberg.rest.RESTCatalogServer"]
            self.process = subprocess.Popen(server, env=environment, stdout=log, stderr=log)
        until = time.monotonic() + SECONDS
        while not self._answers():
            assert self.process.poll() is None and time.monotonic() < until, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.1)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self.stop()
        yield
        self.start()

    def catalog(self) -> Any:
        """The catalog as a reader opens it."""
        from pyiceberg.catalog.rest import RestCatalog

        return RestCatalog("reader", uri=self.uri)

    def pointers(self) -> dict[TableName, str]:
        """Where the metadata of each table is that readers see."""
        catalog = self.catalog()
        schemas = [one for one in catalog.list_namespaces() if one != ("ddlrepl",)]
        names = [name for schema in schemas for name in catalog.list_tables(schema)]
        return {TableName(*name): catalog.load_table(name).metadata_location for name in names}

    def read(self, name: TableName) -> list[dict[str, str | None]]:
        """The rows of a table as DuckDB reads them."""
        columns, found = rows_at(self.pointers()[name])
        return sorted((dict(zip(columns, row, strict=True)) for row in found), key=str)

    def clear(self) -> None:
        """Drop all tables; their files may be gone."""
        catalog = self.catalog()
        for name in [name for schema in catalog.list_namespaces() for name in catalog.list_tables(schema)]:
            catalog.drop_table(name)
        for name in [name for schema in catalog.list_namespaces() for name in catalog.list_views(schema)]:
            catalog.drop_view(name)

    def somebody(self) -> Any:
        """A session of Spark that has the tables as `lake.public.orders`, by code that is none of the product's."""
        spark = warm_runner()._started().newSession()
        settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": self.uri}
        for key, value in {**settings, ".cache-enabled": "false"}.items():
            spark.conf.set(f"spark.sql.catalog.lake{key}", value)
        return spark

    def _answers(self) -> bool:
        with suppress(URLError, OSError):
            urlopen(f"{self.uri}/v1/config", timeout=5).close()
            return True
        return False


@contextmanager
def rest_server(folder: Path, store: Store | None = None) -> Iterator[Rest]:
    """A server with no table. store: of the files; None: a folder."""
    server = Rest.free(folder)
    server.store = store
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _in_store(store: Store) -> dict[str, str]:
    """What tells the server where the files are."""
    return {
        "CATALOG_WAREHOUSE": f"s3://{BUCKET}/wh",
        "CATALOG_IO__IMPL": "org.apache.iceberg.aws.s3.S3FileIO",
        "CATALOG_S3_ENDPOINT": store.endpoint,
        "CATALOG_S3_PATH__STYLE__ACCESS": "true",
        "CATALOG_S3_ACCESS__KEY__ID": KEY,
        "CATALOG_S3_SECRET__ACCESS__KEY": SECRET,
        "CATALOG_CLIENT_REGION": REGION,
        "CATALOG_HTTP__CLIENT_TYPE": "urlconnection",  # the bundle has no client that this version of Iceberg knows
    }


@lru_cache(maxsize=2)
def _class_path(*, in_store: bool) -> str:
    """The jars of the server, which Maven fetches once; Spark's have the rest of what it needs."""
    folder = jar_folder() / f"rest_server_{zlib.crc32(POM.read_bytes()):08x}"
    if not (folder / "done").exists():
        if shutil.which("mvn") is None:
            pytest.skip("Maven, which fetches Iceberg's reference server, is not installed")
        goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
        subprocess.run(["mvn", "-q", "-B", "-f", str(POM), goal, f"-DoutputDirectory={folder}"], check=True)
        (folder / "done").touch()
    found = [
        *sorted(folder.glob("*.jar")),
        *jars(in_store),
        *sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar")),
    ]
    return ":".join(str(one) for one in found if "iceberg-spark" not in one.name)
