"""Catalogs that change one table at a time, as readers of them and somebody else who writes there see them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_ddlrepl.model.names import TableName
from tests.support.lakes.reader import rows_at
from tests.support.lakes.warm_spark import warm_runner

Rows = list[dict[str, str | None]]


class Single(ABC):
    """A catalog, and a warehouse in a folder. kind: of the catalog."""

    kind: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
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


KINDS: tuple[type[Single], ...] = (Hadoop,)
"""All of them."""
