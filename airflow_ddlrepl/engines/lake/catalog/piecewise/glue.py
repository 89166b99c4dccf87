"""This module is AWS Glue as a catalog that changes one table at a time, asked by boto3.

A table's pointer is a parameter of its entry. An entry is changed only if it still has the version that was read, as
Iceberg's own writers do it. Glue removes an entry whatever its version is: so the entry is retired first, by a change
of that kind, after which Iceberg's writers take it for no table of theirs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from airflow_ddlrepl.engines.lake.catalog.piecewise.iceberg_metadata import parsed
from airflow_ddlrepl.engines.lake.catalog.piecewise.port import Metadata, OneByOne
from airflow_ddlrepl.engines.lake.connection.conflicts import (
    catalog_unreachable,
    driver_missing,
    name_taken,
    written_meanwhile,
)
from airflow_ddlrepl.engines.lake.connection.single_catalog import SingleCatalog
from airflow_ddlrepl.model.names import TableName

_POINTER, _TYPE = "metadata_location", "table_type"
_ICEBERG, _RETIRED = "ICEBERG", "DDLREPL_DROPPED"
"""The types that an entry of a table has, and one that is to be removed."""
_ATTEMPTS = 5
"""So often an entry is retired that others change in between, without moving its pointer."""
_CONNECT_SECONDS, _READ_SECONDS = 10, 60
_SHOWN = re.compile(r"[\t -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]{1,255}")
"""Names and comments of columns that Glue takes."""

Entry = Mapping[str, Any]
"""What Glue has of a table."""


@dataclass(frozen=True, slots=True)
class GlueCatalog(OneByOne):
    """A catalog of an account and region has databases, which are namespaces, with tables."""

    named: SingleCatalog
    names = re.compile(r"[a-z0-9_]{1,255}")
    rule = "Glue has names of small letters, and Iceberg's writers take letters, digits and _ alone there"

    def find(self, name: TableName) -> str | None:
        with self._entries() as entries:
            return _pointer(name, entries.of(name))

    def kinds(self) -> dict[TableName, str]:
        with self._entries() as entries:
            return {TableName(*one): kind for *one, kind in entries.kinds()}

    def add(self, name: TableName, path: str, metadata: Metadata) -> None:
        with self._entries() as entries:
            entries.add(name, _input(name, path, metadata))

    def swap(self, name: TableName, base: str, path: str, metadata: Metadata) -> None:
        with self._entries() as entries:
            entry = entries.of(name)
            if entry is None or _pointer(name, entry) != base or _is_retired(entry):
                raise written_meanwhile(name)
            changed = _input(name, path, metadata, entry, base)
            if not entries.has_changed(name, entry, {**entries.kept(entry), **changed}):
                raise written_meanwhile(name)

    def drop(self, name: TableName, last: str) -> None:
        with self._entries() as entries:
            for _ in range(_ATTEMPTS):
                entry = entries.of(name)
                if entry is None or _pointer(name, entry) != last:
                    break
                if _is_retired(entry):  # nobody can have written to it since
                    entries.remove(name)
                    return
                retired = {**entry["Parameters"], _TYPE: _RETIRED}
                entries.has_changed(name, entry, {**entries.kept(entry), "Parameters": retired})
            raise written_meanwhile(name)

    def require_able(self) -> None:
        with self._entries() as entries:
            next(entries.databases(), None)

    @contextmanager
    def _entries(self) -> Iterator[_Entries]:
        """Open the catalog. Raises Unreachable CON-125, DriverMissing CON-113."""
        try:
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError as error:
            raise driver_missing("AWS Glue", "glue", error) from None
        try:
            yield _Entries(_client(self.named))
        except (BotoCoreError, ClientError) as error:
            raise catalog_unreachable(self.named.name, self.named.redacted(error)) from None


@dataclass(frozen=True, slots=True)
class _Entries:
    """These are the entries of a catalog. client: boto3's."""

    client: Any

    def of(self, name: TableName) -> Entry | None:
        """Return the entry of a table; None: there is none."""
        try:
            found: Entry = self.client.get_table(DatabaseName=name.schema, Name=name.name)["Table"]
        except self.client.exceptions.EntityNotFoundException:
            return None
        return found

    def databases(self) -> Iterator[str]:
        """Yield the names of all databases."""
        for page in self.client.get_paginator("get_databases").paginate():
            yield from (one["Name"] for one in page["DatabaseList"])

    def kinds(self) -> Iterator[tuple[str, str, str]]:
        """Yield database, name and kind of each entry."""
        pages = self.client.get_paginator("get_tables")
        for schema in self.databases():
            with suppress(self.client.exceptions.EntityNotFoundException):  # the database is gone meanwhile
                for page in pages.paginate(DatabaseName=schema, AttributesToGet=["NAME", "TABLE_TYPE"]):
                    for one in page["TableList"]:
                        yield schema, one["Name"], "view" if one.get("TableType") == "VIRTUAL_VIEW" else "table"

    def add(self, name: TableName, made: Mapping[str, Any]) -> None:
        """Add an entry, and its database. Raises CannotAdapt ADP-104 where there is one of that name."""
        try:
            self.client.get_database(Name=name.schema)
        except self.client.exceptions.EntityNotFoundException:
            with suppress(self.client.exceptions.AlreadyExistsException):  # made meanwhile
                self.client.create_database(DatabaseInput={"Name": name.schema})
        try:
            self.client.create_table(DatabaseName=name.schema, TableInput=made)
        except self.client.exceptions.AlreadyExistsException:
            raise name_taken(name) from None

    def has_changed(self, name: TableName, entry: Entry, changed: Mapping[str, Any]) -> bool:
        """Change an entry, unless it has another version by now than the one that was read; say whether it was changed.

        A request that Glue has done, and whose answer was lost, is sent again by boto3, and refused then.
        """
        version = {"VersionId": entry["VersionId"], "SkipArchive": True}
        exceptions = self.client.exceptions
        try:
            self.client.update_table(DatabaseName=name.schema, TableInput=changed, **version)
        except (exceptions.ConcurrentModificationException, exceptions.EntityNotFoundException):
            return False
        return True

    def remove(self, name: TableName) -> None:
        """Remove an entry, unless it is gone."""
        with suppress(self.client.exceptions.EntityNotFoundException):
            self.client.delete_table(DatabaseName=name.schema, Name=name.name)

    def kept(self, entry: Entry) -> dict[str, Any]:
        """Return all of an entry that a request can change: what it does not say would be gone."""
        known = self.client.meta.service_model.shape_for("TableInput").members
        return {key: value for key, value in entry.items() if key in known}


@lru_cache
def _client(named: SingleCatalog) -> Any:
    """Return boto3's client. It retries as the environment says (AWS_RETRY_MODE, AWS_MAX_ATTEMPTS), or as is usual."""
    from boto3.session import Session
    from botocore.config import Config
    from pyiceberg.catalog.glue import _register_glue_catalog_id_with_glue_client

    said = named.properties
    login = ("access-key-id", "secret-access-key", "session-token")
    key, secret, token = (said.get(f"client.{name}") for name in login)
    session = Session(key, secret, token, said.get("client.region"))
    config = Config(connect_timeout=_CONNECT_SECONDS, read_timeout=_READ_SECONDS)
    client = session.client("glue", endpoint_url=said.get("glue.endpoint"), config=config)
    if "glue.id" in said:
        _register_glue_catalog_id_with_glue_client(client, said["glue.id"])
    return client


os.register_at_fork(after_in_child=_client.cache_clear)


def _input(
    name: TableName, path: str, metadata: Metadata, entry: Entry | None = None, base: str | None = None
) -> dict[str, Any]:
    """Return an entry with this pointer. entry, base: the entry and the pointer before."""
    from pyiceberg.catalog.glue import _construct_table_input

    before = {**entry, "Parameters": dict(entry["Parameters"])} if entry else {}  # it is written to
    found = _construct_table_input(name.name, path, {}, parsed(metadata), before, base)
    descriptor = before.get("StorageDescriptor", {})
    comments = {one["Name"]: one["Comment"] for one in descriptor.get("Columns", ()) if one.get("Comment")}
    made = found["StorageDescriptor"]
    columns = [{"Comment": comments.get(one["Name"], ""), **one} for one in made["Columns"]]
    shown = [_shown(one) for one in columns if _SHOWN.fullmatch(one["Name"])]
    return {**found, "StorageDescriptor": {**descriptor, **made, "Columns": shown}}


def _shown(column: Mapping[str, Any]) -> dict[str, Any]:
    """Return a column without a comment that Glue does not take."""
    return {key: value for key, value in column.items() if key != "Comment" or _SHOWN.fullmatch(value)}


def _is_retired(entry: Entry) -> bool:
    return bool(entry["Parameters"][_TYPE] == _RETIRED)


def _pointer(name: TableName, entry: Entry | None) -> str | None:
    """Return the pointer of an entry; None: there is no entry. Raises CannotAdapt ADP-104 for no table of Iceberg's."""
    if entry is None:
        return None
    found = entry.get("Parameters") or {}
    if found.get(_TYPE, "").upper() not in (_ICEBERG, _RETIRED) or not found.get(_POINTER):
        raise name_taken(name)
    return str(found[_POINTER])
