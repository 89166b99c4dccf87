"""Catalogs that change one table at a time, as readers of them and somebody else who writes there see them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyiceberg.table import StaticTable

from airflow_ddlrepl.model.names import TableName
from tests.support.lakes.glue import REGION
from tests.support.lakes.reader import rows_at
from tests.support.lakes.store import KEY, SECRET
from tests.support.lakes.warm_spark import warm_runner

Rows = list[dict[str, str | None]]


class Single(ABC):
    """A catalog, and a warehouse in a folder. kind: of the catalog."""

    kind: str
    server: str = ""
    """The fixture of the server that has the catalog; empty: files are the catalog."""

    def __init__(self, folder: Path, server: Any = None) -> None:
        self.folder, self.of_server = folder, server
        self.warehouse = folder / "wh"
        self.warehouse.mkdir()

    @property
    def location(self) -> str:
        """The location of a lake."""
        more = "".join(f"&{name}={value}" for name, value in self.settings().items())
        return f"iceberg://{self.folder}/state.db?catalog={self.kind}&warehouse={self.warehouse}{more}"

    def settings(self) -> Mapping[str, str]:
        """What the location says besides."""
        return {}

    @abstractmethod
    def pointers(self) -> dict[TableName, str]:
        """Where the metadata of each table is that readers see, by code that is none of the product's."""

    @abstractmethod
    def of_spark(self) -> Mapping[str, str]:
        """The settings by which Spark opens the catalog."""

    def somebody(self) -> Any:
        """A session of Spark that has the tables as `lake.public.orders`."""
        spark = warm_runner()._started().newSession()
        settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".cache-enabled": "false"}
        for key, value in {**settings, **{f".{key}": value for key, value in self.of_spark().items()}}.items():
            spark.conf.set(f"spark.sql.catalog.lake{key}", value)
        return spark

    def read(self, name: TableName) -> Rows:
        """The rows of a table as DuckDB reads them; Spark, which asks the catalog, reads as many."""
        columns, found = rows_at(self.pointers()[name])
        seen = self.somebody().table(f"lake.{name.schema}.`{name.name}`")
        assert (seen.columns, seen.count()) == (columns, len(found))
        return sorted((dict(zip(columns, row, strict=True)) for row in found), key=str)

    def table(self, name: TableName) -> Any:
        """A table as PyIceberg reads it."""
        return StaticTable.from_metadata(self.pointers()[name])

    def snapshots(self, name: TableName) -> int:
        """How many snapshots a table has: none is expired."""
        return int(self.somebody().table(f"lake.{name.schema}.`{name.name}`.snapshots").count())


class Hadoop(Single):
    """A Hadoop catalog: a table's newest version is its pointer."""

    kind = "hadoop"

    def pointers(self) -> dict[TableName, str]:
        found: dict[TableName, tuple[int, str]] = {}
        for path in self.warehouse.glob("*/*/metadata/v*.metadata.json"):
            name = TableName(*path.parts[-4:-2])
            number = re.fullmatch(r"v(\d+)\.metadata\.json", path.name)
            if number is not None:
                found[name] = max(found.get(name, (0, "")), (int(number[1]), str(path)))
        return {name: path for name, (_, path) in found.items()}

    def of_spark(self) -> Mapping[str, str]:
        return {"type": "hadoop", "warehouse": str(self.warehouse)}


class Hive(Single):
    """A Hive metastore, as PyIceberg's and Spark's catalogs see it."""

    kind = "hive"
    server = "hive_metastore"

    def __init__(self, folder: Path, server: Any = None) -> None:
        super().__init__(folder, server)
        for name in self.pointers():  # of earlier tests
            self.catalog().drop_table(tuple(name))

    def settings(self) -> Mapping[str, str]:
        return {"uri": self.of_server.uri}

    def catalog(self) -> Any:
        from pyiceberg.catalog.hive import HiveCatalog

        return HiveCatalog("reader", uri=self.of_server.uri)

    def pointers(self) -> dict[TableName, str]:
        catalog = self.catalog()
        names = [name for schema in catalog.list_namespaces() for name in catalog.list_tables(schema)]
        with catalog._client as client:
            return {TableName(*name): client.get_table(*name).parameters["metadata_location"] for name in names}

    def of_spark(self) -> Mapping[str, str]:
        hadoop = {"hadoop.iceberg.engine.hive.lock-enabled": "false"}  # the metastore takes no old locks in tests
        return {"type": "hive", "uri": self.of_server.uri, "warehouse": str(self.warehouse), **hadoop}

    def read(self, name: TableName) -> Rows:
        found = super().read(name)
        assert self.catalog().load_table(tuple(name)).scan().to_arrow().num_rows == len(found)
        return found


class Glue(Single):
    """AWS Glue, as PyIceberg's and Spark's catalogs see it."""

    kind = "glue"
    server = "glue"

    def __init__(self, folder: Path, server: Any = None) -> None:
        super().__init__(folder, server)
        for name in self.pointers():  # of earlier tests
            self.of_server.catalog().drop_table(tuple(name))

    def settings(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.of_server.settings()
        return found

    def pointers(self) -> dict[TableName, str]:
        catalog = self.of_server.catalog()
        names = [name for schema in catalog.list_namespaces() for name in catalog.list_tables(schema)]
        entries = {TableName(*name): catalog._get_glue_table(*name) for name in names}
        return {name: entry["Parameters"]["metadata_location"] for name, entry in entries.items()}

    def of_spark(self) -> Mapping[str, str]:
        java: Any = warm_runner()._started()._jvm
        for name, value in {"accessKeyId": KEY, "secretAccessKey": SECRET}.items():
            java.java.lang.System.setProperty(f"aws.{name}", value)
        where = {"glue.endpoint": self.of_server.endpoint, "client.region": REGION, "warehouse": str(self.warehouse)}
        return {"type": "glue", "io-impl": "org.apache.iceberg.hadoop.HadoopFileIO", **where}

    def read(self, name: TableName) -> Rows:
        found = super().read(name)
        assert self.of_server.catalog().load_table(tuple(name)).scan().to_arrow().num_rows == len(found)
        return found


KINDS: tuple[type[Single], ...] = (Hadoop, Hive, Glue)
"""All of them."""
