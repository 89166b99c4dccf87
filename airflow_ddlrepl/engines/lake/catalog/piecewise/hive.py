"""This module is a Hive metastore as a catalog that changes one table at a time, asked by PyIceberg's Thrift client.

A table's pointer is a parameter of its entry. It is changed under the metastore's lock of the table, as Iceberg's own
writers do it, and names to the metastore what it is to be changed from, which newer ones look at, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

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

_POINTER, _BEFORE = "metadata_location", "previous_metadata_location"
_MILLISECONDS = 120_000
"""So long a metastore may take to answer."""
_PORT = 9083
_CHANGED = "has been modified"
"""What a metastore says that finds another pointer than is expected."""


@dataclass(frozen=True, slots=True)
class HiveCatalog(OneByOne):
    """A metastore has databases, which are namespaces, with tables."""

    named: SingleCatalog
    names = re.compile(r"[a-z0-9_]{1,128}")
    rule = "Hive has names of small letters, digits and _ alone, and takes others for the same in small letters"

    def find(self, name: TableName) -> str | None:
        with self._session() as session:
            return _pointer(name, session.table(name))

    def kinds(self) -> dict[TableName, str]:
        found: dict[TableName, str] = {}
        with self._session() as session:
            for schema in session.client.get_all_databases():
                views = set(session.client.get_tables_by_type(schema, ".*", "VIRTUAL_VIEW"))
                for name in session.client.get_all_tables(schema):
                    found[TableName(schema, name)] = "view" if name in views else "table"
        return found

    def add(self, name: TableName, path: str, metadata: Metadata) -> None:
        with self._session() as session:
            session.add(name, path, metadata)

    def swap(self, name: TableName, base: str, path: str, metadata: Metadata) -> None:
        with self._session() as session, session.locked(name):
            table = session.table(name)
            if table is None or _pointer(name, table) != base:
                raise written_meanwhile(name)
            session.alter(name, table, base, path, metadata)

    def drop(self, name: TableName, last: str) -> None:
        with self._session() as session, session.locked(name):
            table = session.table(name)
            if table is None or _pointer(name, table) != last:
                raise written_meanwhile(name)
            session.client.drop_table(name.schema, name.name, False)

    def require_able(self) -> None:
        with self._session() as session:
            session.client.get_all_databases()

    @contextmanager
    def _session(self) -> Iterator[_Session]:
        """Open a session. Raises Unreachable CON-125, DriverMissing CON-113."""
        try:
            from pyiceberg.catalog.hive import HiveCatalog as Theirs
            from pyiceberg.exceptions import CommitFailedException, WaitingForLockException
            from thrift.Thrift import TException
        except ImportError as error:
            raise driver_missing("Hive metastores", "hive", error) from None
        try:
            transport = _transport_to(self.named.properties["uri"])
            try:
                theirs = Theirs("ddlrepl", **self.named.properties, **{"hive.hive2-compatible": "true"})
                yield _Session(_client(transport, self.named.properties.get("ugi", "")), theirs)
            finally:
                transport.close()
        except (TException, CommitFailedException, WaitingForLockException) as error:
            said = getattr(error, "message", None) or str(error) or type(error).__name__
            raise catalog_unreachable(self.named.name, self.named.redacted(said)) from None


@dataclass(frozen=True, slots=True)
class _Session:
    """A session with a metastore. client: Thrift's. theirs: PyIceberg's catalog."""

    client: Any
    theirs: Any

    def table(self, name: TableName) -> Any:
        """Return the entry of a table; None: there is none."""
        from hive_metastore.ttypes import NoSuchObjectException

        try:
            return self.client.get_table(name.schema, name.name)
        except NoSuchObjectException:
            return None

    @contextmanager
    def locked(self, name: TableName) -> Iterator[None]:
        """Have nobody else who asks for the lock of a table write to it inside the `with`."""
        from hive_metastore.ttypes import DataOperationType, LockState, UnlockRequest

        wanted = self.theirs._create_lock_request(*name)
        for one in wanted.component:  # of no transaction of Hive's
            one.operationType, one.isTransactional = DataOperationType.NO_TXN, False
        lock = self.client.lock(wanted)
        try:
            if lock.state != LockState.ACQUIRED:
                self.theirs._wait_for_lock(*name, lock.lockid, self.client)
            yield
        finally:
            self.client.unlock(UnlockRequest(lockid=lock.lockid))

    def add(self, name: TableName, path: str, metadata: Metadata) -> None:
        """Add a table, and its database."""
        from hive_metastore.ttypes import AlreadyExistsException, Database
        from pyiceberg.table import StagedTable

        if name.schema not in self.client.get_all_databases():
            with suppress(AlreadyExistsException):  # made meanwhile
                self.client.create_database(Database(name=name.schema, parameters={}))
        staged = StagedTable(tuple(name), parsed(metadata), path, None, self.theirs)
        try:
            self.client.create_table(self.theirs._convert_iceberg_into_hive(staged))
        except AlreadyExistsException:
            raise name_taken(name) from None

    def alter(self, name: TableName, table: Any, base: str, path: str, metadata: Metadata) -> None:
        """Change the pointer of an entry, and the columns that Hive shows of it."""
        from hive_metastore.ttypes import EnvironmentContext, InvalidOperationException, MetaException
        from pyiceberg.catalog.hive import _construct_hive_storage_descriptor

        new = parsed(metadata)
        context = {"expected_parameter_key": _POINTER, "expected_parameter_value": base, "DO_NOT_UPDATE_STATS": "true"}
        table.parameters |= {_POINTER: path, _BEFORE: base}
        columns = _construct_hive_storage_descriptor(new.schema(), new.location, hive2_compatible=True)
        for described in (columns, table.sd):
            table.sd = described
            try:
                self.client.alter_table_with_environment_context(*name, table, EnvironmentContext(context))
                return
            except InvalidOperationException:  # many refuse columns of other types: Hive shows the earlier ones then
                if described is not columns:
                    raise
            except MetaException as error:
                if _CHANGED in str(error.message):
                    raise written_meanwhile(name) from None
                raise


def _transport_to(uris: str) -> Any:
    """Return a transport to the first of some metastores that answers."""
    from thrift.transport import TSocket, TTransport

    for number, uri in enumerate(places := uris.split(",")):
        parts = urlsplit(uri.strip())
        socket = TSocket.TSocket(parts.hostname, parts.port or _PORT)
        socket.setTimeout(_MILLISECONDS)
        transport = TTransport.TBufferedTransport(socket)
        try:
            transport.open()
            break
        except TTransport.TTransportException:
            if number == len(places) - 1:
                raise
    return transport


def _client(transport: Any, user: str) -> Any:
    """Return a client. user: `name:group` that the metastore is told; empty: none."""
    from hive_metastore.ThriftHiveMetastore import Client
    from thrift.protocol.TBinaryProtocol import TBinaryProtocol

    client = Client(TBinaryProtocol(transport))
    if user:
        name, _, groups = user.partition(":")
        client.set_ugi(name, groups.split(",") if groups else [])
    return client


def _pointer(name: TableName, table: Any) -> str | None:
    """Return the pointer of an entry; None: there is no entry. Raises CannotAdapt ADP-104 for no table of Iceberg's."""
    if table is None:
        return None
    found = table.parameters or {}
    if found.get("table_type", "").upper() != "ICEBERG" or not found.get(_POINTER):
        raise name_taken(name)
    return str(found[_POINTER])
