"""This module reads and moves the entries of a JDBC catalog: which metadata file each table has at the moment.

Whoever writes to a table moves its entry from the metadata file that it has read; so does a run, for all of its tables
in one transaction.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    String,
    Table,
    and_,
    delete,
    func,
    insert,
    inspect,
    null,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.elements import ColumnElement

from airflow_ddlrepl.engines.lake.connection.conflicts import name_taken, written_meanwhile
from airflow_ddlrepl.model.names import TableName

_SCHEMA = MetaData()
_tables = Table(
    "iceberg_tables",
    _SCHEMA,
    Column("catalog_name", String(255), primary_key=True),
    Column("table_namespace", String(255), primary_key=True),
    Column("table_name", String(255), primary_key=True),
    Column("metadata_location", String(1000)),
    Column("previous_metadata_location", String(1000)),
    Column("iceberg_type", String(5)),
)
_properties = Table(
    "iceberg_namespace_properties",
    _SCHEMA,
    Column("catalog_name", String(255), primary_key=True),
    Column("namespace", String(255), primary_key=True),
    Column("property_key", String(255), primary_key=True),
    Column("property_value", String(1000)),
)
VIEW = "VIEW"
"""The type of an entry that is a view."""
_EXISTS = "exists"
"""The property by which Iceberg's Java knows that there is a namespace."""


def create(connection: Connection) -> None:
    """Create the catalog's tables as Iceberg makes them, where they do not exist.

    One that an older Iceberg has made (its schema is V0) gets the column that Iceberg's Java gives it, too.
    """
    _SCHEMA.create_all(connection)
    if not _has_views(connection):
        connection.execute(text("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)"))


def is_catalog(connection: Connection) -> bool:
    """Has the database a catalog?"""
    return inspect(connection).has_table(_tables.name)


def _has_views(connection: Connection) -> bool:
    """Can the catalog have views? One of schema V0 has no column for the type of an entry, until we write to it."""
    if not connection.info.get(VIEW):  # of a session: to ask takes longer than to read an entry
        columns = inspect(connection).get_columns(_tables.name)
        connection.info[VIEW] = _tables.c.iceberg_type.name in {one["name"] for one in columns}
    return bool(connection.info[VIEW])


def pointer(connection: Connection, catalog: str, name: TableName, *, is_view: bool = False) -> str | None:
    """Return the path of the metadata file that a table, or a view, has now; None: there is none of this name."""
    if not is_catalog(connection):
        return None
    query = select(_tables.c.metadata_location).where(_at(catalog, name))
    if _has_views(connection):
        query = query.where(func.coalesce(_tables.c.iceberg_type, "TABLE") == (VIEW if is_view else "TABLE"))
    elif is_view:
        return None
    found: str | None = connection.execute(query).scalar()
    return found


def remove_views(connection: Connection, catalog: str, folder: str) -> dict[TableName, str]:
    """Remove the views whose metadata is in a folder; return the path of each view's metadata file."""
    if not is_catalog(connection) or not _has_views(connection):
        return {}
    of = (_tables.c.catalog_name == catalog, _tables.c.iceberg_type == VIEW)
    ours = _tables.c.metadata_location.startswith(folder, autoescape=True)
    query = select(_tables.c.table_namespace, _tables.c.table_name, _tables.c.metadata_location).where(*of, ours)
    found = {TableName(schema, name): metadata for schema, name, metadata in connection.execute(query)}
    if found:
        connection.execute(delete(_tables).where(*of, ours))
    return found


def kinds_there(connection: Connection, catalog: str) -> dict[TableName, str]:
    """Return whether each object of a catalog is a `table` or a `view`, by its name."""
    if not is_catalog(connection):
        return {}
    kind = _tables.c.iceberg_type if _has_views(connection) else null()
    query = select(_tables.c.table_namespace, _tables.c.table_name, kind)
    found = connection.execute(query.where(_tables.c.catalog_name == catalog))
    return {TableName(schema, name): (kind or "TABLE").lower() for schema, name, kind in found}


def add_entry(
    connection: Connection,
    catalog: str,
    name: TableName,
    metadata: str,
    previous: str | None = None,
    kind: str = "TABLE",
) -> None:
    """Add a table or view, and its namespace. Raises CannotAdapt ADP-104 where there is one of that name."""
    add_namespace(connection, catalog, name.schema)
    row = {
        "catalog_name": catalog,
        "table_namespace": name.schema,
        "table_name": name.name,
        "metadata_location": metadata,
        "previous_metadata_location": previous,
        "iceberg_type": kind,
    }
    try:
        connection.execute(insert(_tables), [row])
    except IntegrityError:
        raise name_taken(name) from None


def add_namespace(connection: Connection, catalog: str, namespace: str) -> None:
    """Add a namespace, unless it is there."""
    same = (_properties.c.catalog_name == catalog, _properties.c.namespace == namespace)
    if connection.execute(select(_properties.c.property_key).where(*same).limit(1)).first() is None:
        row = {"catalog_name": catalog, "namespace": namespace, "property_key": _EXISTS, "property_value": "true"}
        connection.execute(insert(_properties), [row])


def move_entry(connection: Connection, catalog: str, name: TableName, old: str, new: str) -> None:
    """Move a table from one metadata file to the next.

    Raises WrittenMeanwhile TGT-112 where it has another one by now.
    """
    where = and_(_at(catalog, name), _tables.c.metadata_location == old)
    values = {"metadata_location": new, "previous_metadata_location": old}
    if connection.execute(update(_tables).where(where).values(**values)).rowcount != 1:
        raise written_meanwhile(name)


def remove_entry(connection: Connection, catalog: str, name: TableName, old: str) -> None:
    """Remove a table; its files stay. Raises WrittenMeanwhile TGT-112 where it has another metadata file by now."""
    where = and_(_at(catalog, name), _tables.c.metadata_location == old)
    if connection.execute(delete(_tables).where(where)).rowcount != 1:
        raise written_meanwhile(name)


def forget_namespace(connection: Connection, catalog: str, namespace: str) -> None:
    """Remove a namespace with all of its entries; the files of its tables stay."""
    if is_catalog(connection):
        for one, name in ((_tables, _tables.c.table_namespace), (_properties, _properties.c.namespace)):
            connection.execute(delete(one).where(one.c.catalog_name == catalog, name == namespace))


def namespaces(connection: Connection, catalog: str) -> list[str]:
    """Return the namespaces of a catalog."""
    if not is_catalog(connection):
        return []
    query = select(_properties.c.namespace).where(_properties.c.catalog_name == catalog).distinct()
    return list(connection.execute(query).scalars())


def _at(catalog: str, name: TableName) -> ColumnElement[bool]:
    return and_(
        _tables.c.catalog_name == catalog, _tables.c.table_namespace == name.schema, _tables.c.table_name == name.name
    )
