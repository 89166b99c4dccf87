"""This module says how the columns of a table become those of a load: one stays, with its id, where its type allows it.

Iceberg finds values by the ids of columns, so old snapshots show what they had under the names of their time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from airflow_ddlrepl.engines.lake.catalog.metadata import columns_there, field_ids, newest_id
from airflow_ddlrepl.engines.lake.connection.files import Files
from airflow_ddlrepl.engines.lake.types.physical import columns_sql, widens_to
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout says what becomes of a table's columns. ids: of the columns of the load, by their new names.

    dropped: old names. renamed: new names, by the old. widened: Spark's names of new types, by the old names. added:
    Spark's names of types, by name, in the order in which they get their ids.
    """

    ids: Mapping[str, int]
    dropped: Sequence[str]
    renamed: Mapping[str, str]
    widened: Mapping[str, str]
    added: Mapping[str, str]


def layout(metadata: str, files: Files, recorded: Table | None, shape: Table, own: Collection[str] = ()) -> Layout:
    """Return how the columns of a table become those of a shape.

    metadata: the path of the file that the table has now, one of files. recorded: the shape that the channel gave it;
    None: columns are the same by their names. own: names of columns that stay though the shape does not have them.
    """
    there, ids = columns_there(metadata, files), field_ids(metadata, files)
    before = {column.id: column.name for column in (recorded or shape).columns}
    found, renamed, widened, added = dict[str, int](), dict[str, str](), dict[str, str](), dict[str, str]()
    next_id = newest_id(metadata, files)
    names = {column.name: before.get(column.id, "") for column in shape.columns}
    for name, held in columns_sql(shape).items():
        old = names[name]
        if old not in there or not widens_to(there[old], held):
            next_id += 1
            found[name], added[name] = next_id, held
            continue
        found[name] = ids[old]
        if old != name:
            renamed[old] = name
        if there[old] != held:
            widened[old] = held
    stays = {ids[name] for name in own} | set(found.values())
    return Layout(found, [name for name in there if ids[name] not in stays], renamed, widened, added)


def new_layout(shape: Table) -> Layout:
    """Return the layout of a new table: Iceberg numbers its columns in their order."""
    return Layout({name: place for place, name in enumerate(columns_sql(shape), 1)}, (), {}, {}, {})
