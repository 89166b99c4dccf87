"""This module merges the columns of a table's revisions by their identity into the columns of a change feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.flow.change_feed.options import FeedOptions
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.ports.types import TypeSystem

CHANGE_FIELDS = (
    pa.field("_operation", pa.string(), nullable=False),
    pa.field("_position", pa.int64(), nullable=False),
    pa.field("_sequence", pa.int64(), nullable=False),
    pa.field("_committed", pa.timestamp("us", "UTC"), nullable=False),
    pa.field("_transaction", pa.int64(), nullable=False),
    pa.field("_revision", pa.int32()),
    pa.field("_before", pa.string(), nullable=False),
    pa.field("_absent", pa.list_(pa.string())),
)
"""What every change has, before the values of its row."""


@dataclass(frozen=True, slots=True)
class FeedColumn:
    """A feed column shows one column of a table, whose id is the same in all revisions."""

    id: int
    name: str
    type: pa.DataType


def feed_columns(
    revisions: Sequence[Revision], options: FeedOptions, types: TypeSystem, values: ChangeValues
) -> list[FeedColumn]:
    """Return the columns of a feed, those of the last revision first; dropped ones follow.

    Raises TrailError TRL-122: a column had types that none can show, a name occurs twice, or a column is unknown.
    """
    history: dict[int, list[tuple[Column, Table]]] = {}
    tables = [r.table for r in revisions if r.table is not None]
    for table in tables:
        for column in table.columns:
            history.setdefault(column.id, []).append((column, table))
    last = [column.id for column in tables[-1].columns] if tables else []
    order = [*last, *(i for i in history if i not in last)]
    used = {history[i][-1][0].name for i in last}
    found = []
    for i in order:
        name = history[i][-1][0].name
        if i not in last and name in used:
            name = f"{name}_dropped_{i}"
        used.add(name)
        if not options.columns or name in options.columns:
            found.append(FeedColumn(i, name, _merged_type(name, history[i], types, values, options)))
    if unknown := set(options.columns) - used:
        raise _refused(options, f"there is no column {min(unknown)}", f"there are {', '.join(sorted(used))}")
    return found


def feed_schema(columns: Sequence[FeedColumn], options: FeedOptions) -> pa.Schema:
    """Return the schema of a feed: what every change has, its row after the change, its row before it."""
    after = [pa.field(c.name, c.type) for c in columns]
    before = [pa.field(f"{options.before_prefix}{c.name}", c.type) for c in columns]
    fields = [*CHANGE_FIELDS, *after, *before]
    seen: dict[str, str] = {}
    for field in fields:
        if (other := seen.get(field.name.lower())) is not None:
            raise _refused(
                options,
                f"two columns of the feed would be called {other} and {field.name}, which Spark takes for one name",
                "choose others by `columns`, or another `before_prefix`",
            )
        seen[field.name.lower()] = field.name
    return pa.schema(fields)


def _merged_type(
    name: str,
    history: Sequence[tuple[Column, Table]],
    types: TypeSystem,
    values: ChangeValues,
    options: FeedOptions,
) -> pa.DataType:
    """Return the type that shows all values of a column: its last one, or text where others do not fit into that."""
    newest, table = history[-1]
    last = values.shown_type(newest, table.types)
    if all(
        (values.shown_type(column, of.types) == last and not pa.types.is_string(last))
        or types.widens(column.type, newest.type)
        or column.type.id == newest.type.id
        for column, of in history
    ):
        return last
    if all(values.has_exact_text(column, of.types) for column, of in history):
        return pa.string()
    texts = " and ".join(dict.fromkeys(column.type.text for column, _ in history))
    raise _refused(
        options,
        f"column {name} had the types {texts}, whose values no type shows alike",
        'read one revision at a time by option("schema", "revision"), or leave the column out by `columns`',
    )


def _refused(options: FeedOptions, message: str, hint: str) -> TrailError:
    return TrailError(message, code="TRL-122", table=options.table, hint=hint)
