"""This module has three readers of a lake's tables: Spark, PyIceberg, and DuckDB with its extensions.

Each finds the tables in the catalog by itself, and reads one, by its name in the schema `public`, as an Arrow table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Reader = Callable[[str], Any]
SCHEMA = "public"
EXTENSIONS = ("sqlite_scanner", "avro", "iceberg")


def catalog_file(location: str) -> Path:
    """Return the catalog's database. The files of the tables are beside it."""
    return Path(urlsplit(location).path)


@contextmanager
def reading_by_spark(location: str) -> Iterator[Reader]:
    """Read as any application of Spark does: by a catalog of the type JDBC."""
    from airflow_ddlrepl.spark.session.session import session
    from airflow_ddlrepl.spark.session.settings import SparkSettings

    file = catalog_file(location)
    started = session("ddlrepl demo", SparkSettings("local[2]", targets=(location,)))
    try:
        spark = started.newSession()
        spark.conf.set("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set("spark.sql.catalog.lake.type", "jdbc")
        spark.conf.set("spark.sql.catalog.lake.uri", f"jdbc:sqlite:{file}")
        spark.conf.set("spark.sql.catalog.lake.jdbc.schema-version", "V1")
        spark.conf.set("spark.sql.catalog.lake.warehouse", str(file.parent / "warehouse"))
        yield lambda table: spark.table(f"lake.{SCHEMA}.`{table}`").toArrow()
    finally:
        started.stop()


@contextmanager
def reading_by_pyiceberg(location: str) -> Iterator[Reader]:
    """Read as a Python program does that has no Java."""
    with closing(pyiceberg_catalog(location)) as catalog:
        yield lambda table: catalog.load_table((SCHEMA, table)).scan().to_arrow()


def pyiceberg_catalog(location: str) -> Any:
    """Return the catalog as PyIceberg opens it."""
    from pyiceberg.catalog.sql import SqlCatalog

    file = catalog_file(location)
    return SqlCatalog("lake", uri=f"sqlite:///{file}", warehouse=str(file.parent / "warehouse"))


@contextmanager
def reading_by_duckdb(location: str) -> Iterator[Reader]:
    """Read as a SQL prompt does: DuckDB asks the catalog's database for a table's metadata, and reads from there."""
    import duckdb

    with closing(duckdb.connect()) as connection:
        for name in EXTENSIONS:
            connection.execute(f"LOAD '{_extension(name)}'")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"ATTACH '{catalog_file(location)}' AS catalog (TYPE sqlite, READ_ONLY)")
        where = "catalog_name = 'lake' AND table_namespace = ? AND table_name = ?"

        def read(table: str) -> Any:
            query = f"SELECT metadata_location FROM catalog.iceberg_tables WHERE {where}"
            (metadata,) = connection.execute(query, [SCHEMA, table]).fetchone()
            return connection.execute(f"SELECT * FROM iceberg_scan('{metadata}')").to_arrow_table()

        yield read


def _extension(name: str) -> Path:
    """Return the file of an extension, which pip has installed: DuckDB asks no network for it then."""
    package = Path(str(import_module(f"duckdb_extension_{name}").__file__)).parent
    return next(package.glob("extensions/*/*.duckdb_extension"))


READERS = {"Spark": reading_by_spark, "PyIceberg": reading_by_pyiceberg, "DuckDB": reading_by_duckdb}
