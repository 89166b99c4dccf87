"""This module reads the location of a lake: `iceberg:///folder/catalog.db?warehouse=/folder/warehouse`.

The catalog is Iceberg's JDBC catalog in an SQLite file. Our own tables are in that file, too, so that tables' pointers,
a target's position and what is left for the repository change in one transaction.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from airflow_ddlrepl.errors import ConfigError

_SETTINGS = ("warehouse", "name")


@dataclass(frozen=True, slots=True)
class Location:
    """A location says where the catalog's database and the files of its tables are.

    database: the SQLite file. warehouse: the folder with the tables' files. catalog: under which name readers know the
    tables.
    """

    database: Path
    warehouse: Path
    catalog: str

    @property
    def sql_url(self) -> str:
        """Return the URL of the database for SQLAlchemy."""
        return f"sqlite:///{self.database}"

    @property
    def jdbc_url(self) -> str:
        """Return the URL of the database for Iceberg."""
        return f"jdbc:sqlite:{self.database}"

    @property
    def spark_catalog(self) -> str:
        """Return the name of the catalog that has staged tables only, in Spark and in the database."""
        text = f"{self.database} {self.catalog}"
        return f"ddlrepl_{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def staging_folder(self) -> Path:
        """Return the folder in which tasks leave what they have staged."""
        return self.warehouse / "ddlrepl_staging"


@lru_cache
def location_of(location: str) -> Location:
    """Return what a location says. Raises ConfigError CFG-104."""
    parts = urlsplit(location)
    settings = dict(parse_qsl(parts.query))
    if parts.netloc or not parts.path.strip("/"):
        raise _location_error("the location of a lake has three slashes and the absolute path of an SQLite file")
    if unknown := sorted(settings.keys() - set(_SETTINGS)):
        raise _location_error(f"the location of a lake has no setting {unknown[0]}")
    database = Path(unquote(parts.path))
    warehouse = Path(settings.get("warehouse") or database.parent / "warehouse")
    if not warehouse.is_absolute():
        raise _location_error("the warehouse of a lake is an absolute path")
    return Location(database, warehouse, settings.get("name") or "lake")


def staging_folder(location: str) -> Path:
    """Return the folder in which tasks leave what they have staged."""
    return location_of(location).staging_folder


def _location_error(why: str) -> ConfigError:
    return ConfigError(why, code="CFG-104", hint="write iceberg:///folder/catalog.db?warehouse=/folder/warehouse")
