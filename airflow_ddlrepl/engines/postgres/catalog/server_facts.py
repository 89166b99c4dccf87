"""This module finds what exists at a server now: its version, extensions, tables by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.catalog.own_partitions import filled_partitions
from airflow_ddlrepl.engines.postgres.catalog.server_traits import server_traits
from airflow_ddlrepl.engines.postgres.catalog.table_objects import is_broken, references, table_objects
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.owners.strangers import errors_of, owned_by_strangers
from airflow_ddlrepl.engines.postgres.types.held_texts import encodable
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.errors import StrangeOwner
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table, TableObject
from airflow_ddlrepl.ports.server_traits import ServerTraits
from airflow_ddlrepl.ports.types import TypeSystem

_OIDS_SQL = """
SELECT w.schema, w.name, c.oid FROM unnest(%s::text[], %s::text[]) AS w(schema, name)
JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
"""
# no join: hundreds of schemas may have a table of that name, and then only the schema's id leads to the one
_OID_SQL = """
SELECT c.oid FROM pg_catalog.pg_class c
WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = %s) AND c.relname = %s
"""
_STRANGE_SQL = """
SELECT DISTINCT w.schema, w.name FROM unnest(%s::text[], %s::text[]) AS w(schema, name)
JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
JOIN pg_catalog.pg_proc p ON p.pronamespace = n.oid AND p.proname = w.name
JOIN pg_catalog.pg_roles o ON o.oid = p.proowner
WHERE o.rolname <> current_user AND NOT o.rolsuper
"""
_HERE_SQL = """
SELECT DISTINCT n.nspname, p.proname FROM unnest(%s::text[], %s::text[]) AS w(schema, name)
JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
JOIN pg_catalog.pg_proc p ON p.pronamespace = n.oid AND p.proname = w.name
"""


class ServerFacts:
    """Server facts are answers from the catalogs of one connection; each question is asked once."""

    type_system: TypeSystem = POSTGRES_TYPES

    def __init__(self, connection: Connection[Any], trusted_roles: Collection[str] = ()) -> None:
        """Ask this connection. trusted_roles: names of roles that may own what the channel uses."""
        self._connection = connection
        self._trusted = trusted_roles
        self._tables: dict[TableName, Table | None] = {}
        self._collations: dict[str, bool] = {}

    @cached_property
    def version(self) -> int:
        """Return the server's major version."""
        return self._connection.info.server_version // 10000

    @cached_property
    def extensions(self) -> frozenset[str]:
        """Return the names of the extensions that are installed in this database."""
        return frozenset(name for (name,) in self._connection.execute("SELECT extname FROM pg_catalog.pg_extension"))

    @cached_property
    def traits(self) -> ServerTraits:
        """Return what the results of the server's expressions depend on."""
        return server_traits(self._connection)

    def has_collation(self, name: str) -> bool:
        """Return whether the database has a collation. name: as SQL, with its schema."""
        if name not in self._collations:
            row = self._connection.execute("SELECT to_regcollation(%s) IS NOT NULL", [name]).fetchone()
            self._collations[name] = row is not None and bool(row[0])
        return self._collations[name]

    def has_builtin(self, name: str) -> bool:
        """Return whether the server can hold values of a built-in type: XML is one that it may be built without."""
        return name != "xml" or self._has_xml

    @cached_property
    def _has_xml(self) -> bool:
        from psycopg.errors import FeatureNotSupported

        try:
            with self._connection.transaction():
                self._connection.execute("SELECT ''::pg_catalog.xml")
        except FeatureNotSupported:
            return False
        return True

    def table(self, name: TableName) -> Table | None:
        """Return the shape of the table of that name; None when there is none."""
        if name not in self._tables:
            row = self._connection.execute(_OID_SQL, self._encodable_name(name)).fetchone()
            found = inspect(self._connection, [row[0]]) if row else []
            self._tables[name] = found[0] if found else None
        return self._tables[name]

    def look(self, names: Collection[TableName]) -> None:
        """Read the shapes of all of these tables at once, so that `table` has them."""
        written = {self._encodable_name(name): name for name in names}
        rows = self._connection.execute(_OIDS_SQL, self._columns(names)).fetchall()
        shapes = {shape.id: shape for shape in inspect(self._connection, [oid for _, _, oid in rows])}
        self._tables |= dict.fromkeys(names) | {written[TableName(s, t)]: shapes.get(oid) for s, t, oid in rows}

    def objects(self, names: Collection[TableName]) -> list[TableObject]:
        """Return what is made on these tables besides their columns; each time the server is asked."""
        return table_objects(self._connection, self._oids(names))

    def broken_references(self, names: Collection[TableName]) -> list[tuple[TableName, str]]:
        """Return the foreign keys of these tables that rows break, by table and name; all rows are read.

        So it names those that can't be looked at: a query over a stranger's table may run code of the stranger's.
        """
        found = references(self._connection, self._oids(names))
        uses = {name: () for one in found for name in (one.table, one.referenced)}
        strange = errors_of(owned_by_strangers(self._connection, uses, self._trusted))
        broken = []
        for one in found:
            errors = [strange[name] for name in (one.table, one.referenced) if name in strange]
            if errors:
                broken.append((one.table, f"{one.name}, which is not looked at: {errors[0].message}: {errors[0].hint}"))
            elif is_broken(self._connection, one):
                broken.append((one.table, one.name))
        return broken

    def _oids(self, names: Collection[TableName]) -> list[int]:
        return [oid for _, _, oid in self._connection.execute(_OIDS_SQL, self._columns(names)).fetchall()]

    def _columns(self, names: Iterable[TableName]) -> list[list[str]]:
        """Return schemas and names of tables as the server can take them."""
        written = [self._encodable_name(name) for name in names]
        return [[name.schema for name in written], [name.name for name in written]]

    def _encodable_name(self, name: TableName) -> TableName:
        """Return a name as the server can take it: one that its encoding can't hold becomes one that nothing has."""
        return TableName(encodable(self._connection, name.schema), encodable(self._connection, name.name))

    def types(self, names: Collection[TableName]) -> frozenset[TableName]:
        """Return those of these names under which a type exists here."""
        if not names:
            return frozenset()
        by_text = {qualified(self._encodable_name(name)): name for name in names}
        found = self._connection.execute(
            "SELECT text FROM unnest(%s::text[]) text WHERE to_regtype(text) IS NOT NULL", [list(by_text)]
        )
        return frozenset(by_text[text] for (text,) in found)

    def strange(self, functions: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return those of these functions (schema, name) that are neither this role's nor a superuser's."""
        if not functions:
            return frozenset()
        schemas, names = zip(*functions, strict=True)
        found = self._connection.execute(_STRANGE_SQL, [list(schemas), list(names)]).fetchall()
        return frozenset((schema, name) for schema, name in found)

    def lacking(self, functions: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return those of these functions (schema, name) that the database does not have."""
        if not functions:
            return frozenset()
        schemas, names = zip(*functions, strict=True)
        found = self._connection.execute(_HERE_SQL, [list(schemas), list(names)]).fetchall()
        return frozenset(functions) - {(schema, name) for schema, name in found}

    def owned_by_strangers(self, tables: Collection[Table]) -> Mapping[TableName, StrangeOwner]:
        """Return the error of each of these tables that would use what a stranger owns."""
        uses = {table.name: table.types for table in tables}
        return errors_of(owned_by_strangers(self._connection, uses, self._trusted))

    def filled_partitions(
        self, tables: Collection[TableName], known: Collection[TableName]
    ) -> list[tuple[TableName, TableName]]:
        """Return partitions below these tables that are none of the known ones and have rows, each with its table."""
        return filled_partitions(self._connection, tables, known) if tables else []

    def is_there(self, name: TableName) -> bool:
        """Is there a table of that name now? The server is asked each time."""
        query = f"{_OID_SQL} AND c.relkind IN ('r', 'p')"
        return self._connection.execute(query.encode(), self._encodable_name(name)).fetchone() is not None

    def has_rows(self, name: TableName) -> bool:
        """Is there a table of that name with a row in it?"""
        if self.table(name) is None:
            return False
        row = self._connection.execute(f"SELECT EXISTS (SELECT FROM {qualified(name)})".encode()).fetchone()
        return row is not None and bool(row[0])


class EmptiedServerFacts(ServerFacts):
    """Emptied server facts are those of a server whose tables are all dropped before anything else is done."""

    def table(self, name: TableName) -> Table | None:
        return None


def publishes_generated(connection: Connection[Any], publication: str) -> bool:
    """Does the log have the values of stored generated columns? PostgreSQL 18 can; activation sees to it."""
    row = connection.execute(
        "SELECT to_jsonb(p) ->> 'pubgencols' = 's' FROM pg_catalog.pg_publication p WHERE pubname = %s", [publication]
    ).fetchone()
    return bool(row and row[0])
