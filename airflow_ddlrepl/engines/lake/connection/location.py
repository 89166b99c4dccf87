"""This module reads the location of a lake: where its catalog's database and the files of its tables are.

iceberg:///folder/catalog.db?warehouse=/folder/warehouse         a catalog in an SQLite file
iceberg://user@host:5432/database?warehouse=s3://bucket/folder   one in PostgreSQL, the tables' files in an object store
iceberg:///folder/state.db?catalog=rest&uri=http://host:8181&…   one that a REST server has, our own tables in a file
iceberg:///folder/state.db?catalog=hadoop&warehouse=/folder/wh   one whose tables are folders, our own tables in a file
iceberg:///folder/state.db?catalog=hive&uri=thrift://host:9083&… one that a metastore has, our own tables in a file
iceberg:///folder/state.db?catalog=glue&warehouse=s3://bucket/wh one that AWS Glue has, our own tables in a file

It is Iceberg's JDBC catalog. Our own tables are in that database, too, so that tables' pointers, a target's position
and what is left for the repository change in one transaction. Where the catalog is another one, the database has our
own tables and what is staged.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from sqlalchemy import URL

from airflow_ddlrepl.config.sections.location import process_user
from airflow_ddlrepl.engines.lake.connection.airflow_connection import location_of_connection
from airflow_ddlrepl.engines.lake.connection.files import DiskFiles, Files, StoreFiles
from airflow_ddlrepl.engines.lake.connection.rest_server import SETTINGS as OF_REST
from airflow_ddlrepl.engines.lake.connection.rest_server import RestServer
from airflow_ddlrepl.engines.lake.connection.single_catalog import OF_FOLDERS, SingleCatalog
from airflow_ddlrepl.engines.lake.connection.single_catalog import SETTINGS as OF_SINGLE
from airflow_ddlrepl.errors import ConfigError

_SETTINGS = ("catalog", "warehouse", "name", "format_version")
_OF_STORE = ("endpoint", "region", "access_key", "secret", "token")
"""Settings of a warehouse in an object store."""
_OF_SERVER = ("sslmode", "sslrootcert", "sslcert", "sslkey")
"""Settings of a connection to PostgreSQL that both of its drivers know, Python's and Java's."""
_PORT = 5432
_ENDED = "57P01,57P02,57P03"
"""What a server says that ends a session: Iceberg is to connect again then, as it does for other states."""

_BUSY = "30000"
"""So many milliseconds Java waits for others that write to an SQLite file: several merges commit at a time."""


@dataclass(frozen=True, slots=True)
class Location:
    """A location says where the catalog's database and the files of its tables are.

    sql_url: of the database. warehouse: the path of the folder with the tables' files. files: all that is in it.
    catalog: under which name readers know the tables. format_version: of Iceberg's format, for tables that are made.
    rest: the server that has the catalog. single: the catalog, where it changes one table at a time. Neither: the
    database has it.
    """

    sql_url: URL = field(repr=False)
    warehouse: str
    files: Files = field(repr=False)
    catalog: str
    format_version: int
    rest: RestServer | None = None
    single: SingleCatalog | None = None

    @property
    def file(self) -> Path | None:
        """Return the SQLite file; None: the database is a server's."""
        return Path(self.sql_url.database or "") if self.sql_url.get_backend_name() == "sqlite" else None

    @property
    def database(self) -> str:
        """Return the place of the database, for people: without user and password."""
        url = self.sql_url
        return str(self.file or f"{url.host}:{url.port or _PORT}/{url.database}")

    @property
    def jdbc(self) -> dict[str, str]:
        """Return how Iceberg's catalog connects to the database, as its properties have it; a password is among them.

        What the location does not say of user and password, Java's driver is to take from where Python's takes it.
        """
        if self.file:
            return {"uri": f"jdbc:sqlite:{self.file}", "jdbc.busy_timeout": _BUSY}
        url = self.sql_url
        query = urlencode(url.query)
        login = {
            "jdbc.user": url.username or os.environ.get("PGUSER") or process_user(),
            "jdbc.password": str(url.password or "") or os.environ.get("PGPASSWORD", ""),
        }
        host = f"[{url.host}]" if ":" in (url.host or "") else url.host
        uri = f"jdbc:postgresql://{host}:{url.port or _PORT}/{url.database}{'?' if query else ''}{query}"
        said = {name: value for name, value in login.items() if value}
        return {"uri": uri, "retryable_status_codes": _ENDED, **said}

    @property
    def spark_catalog(self) -> str:
        """Return the name of the catalog that has staged tables only, in Spark and in the database."""
        text = f"{self.database} {self.catalog}"
        return f"ddlrepl_{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def tables(self) -> str:
        """Return the path of the folder in which tables that are made have the folders of their files."""
        is_by_names = self.single is not None and self.single.kind == "hadoop"
        return f"{self.warehouse}/{OF_FOLDERS}tables" if is_by_names else self.warehouse

    @property
    def staging_folder(self) -> str:
        """Return the path of the folder in which tasks leave what they have staged."""
        return f"{self.warehouse}/ddlrepl_staging"


@lru_cache
def location_of(location: str) -> Location:
    """Return what a location says. Raises ConfigError CFG-104."""
    parts = urlsplit(location)
    settings = dict(parse_qsl(parts.query))
    if "connection" in settings or settings.get("type") == "glue":
        return location_of(location_of_connection(parts, settings))
    kind = settings.get("catalog", "jdbc")
    in_store, is_rest = settings.get("warehouse", "").startswith("s3://"), kind == "rest"
    known = (*_SETTINGS, *(_OF_SERVER if parts.netloc else ()), *(_OF_STORE if in_store else ()))
    known = (*known, *(OF_REST if is_rest else OF_SINGLE.get(kind, ())))
    if unknown := sorted(settings.keys() - set(known)):
        raise _location_error(f"the location of a lake has no setting {unknown[0]}")
    if kind not in ("jdbc", "rest", *OF_SINGLE):
        raise _location_error(f"there is no kind of catalog {kind}")
    if not parts.path.strip("/"):
        raise _location_error("the location of a lake names no database of its catalog")
    url = _of_server(parts, settings) if parts.netloc else URL.create("sqlite", database=unquote(parts.path))
    warehouse = (settings.get("warehouse") or str(Path(url.database or "").parent / "warehouse")).rstrip("/")
    if not warehouse.startswith(("/", "s3://")) or warehouse == "s3:":
        raise _location_error("the warehouse of a lake is an absolute path, or s3://bucket/folder")
    version = settings.get("format_version", "3")
    if version not in ("2", "3"):
        raise _location_error(f"format_version of a lake is 2 or 3, not {version}")
    if is_rest and not settings.get("uri", "").startswith(("http://", "https://")):
        raise _location_error("the location of a lake whose catalog a REST server has names its `uri`, http://…")
    store = _store(settings)
    files = store if in_store else DiskFiles()
    login = store.login if in_store or kind == "glue" else {}
    rest = RestServer.of(settings, login) if is_rest else None
    single = SingleCatalog.of(kind, settings, login, warehouse) if kind in OF_SINGLE else None
    server = rest or single
    name = settings.get("name") or (server.name if server else "lake")
    return Location(url, warehouse, files, name, int(version), rest, single)


def _store(settings: Mapping[str, str]) -> StoreFiles:
    """Return an object store, as the location says, or as the variables that its own tools know say."""
    asked = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"), ("AWS_REGION", "AWS_DEFAULT_REGION")
    endpoint, region = (next((os.environ[name] for name in names if os.environ.get(name)), "") for names in asked)
    login = (settings.get(name, "") for name in ("access_key", "secret", "token"))
    return StoreFiles(settings.get("endpoint") or endpoint, settings.get("region") or region, *login)


def _of_server(parts: SplitResult, settings: Mapping[str, str]) -> URL:
    if "warehouse" not in settings:
        raise _location_error("the location of a lake whose catalog is in PostgreSQL names its warehouse")
    try:
        port = parts.port
    except ValueError:
        raise _location_error("the port of the location of a lake is a number") from None
    return URL.create(
        "postgresql+psycopg",
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        host=unquote(parts.hostname or ""),
        port=port,
        database=unquote(parts.path.strip("/")),
        query={name: value for name, value in settings.items() if name in _OF_SERVER},
    )


def staging_folder(location: str) -> str:
    """Return the path of the folder in which tasks leave what they have staged."""
    return location_of(location).staging_folder


def _location_error(why: str) -> ConfigError:
    return ConfigError(
        why,
        code="CFG-104",
        hint="write iceberg:///folder/catalog.db?warehouse=/folder/warehouse, or"
        " iceberg://user@host:5432/database?warehouse=s3://bucket/folder",
    )
