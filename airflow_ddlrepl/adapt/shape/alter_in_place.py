"""A target table gets another layout and keeps its rows; the refresh then repairs them one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from airflow_ddlrepl.adapt.shape.match_existing import as_seen
from airflow_ddlrepl.adapt.shape.type_changes import TYPE_CHANGES
from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.base.same_shape import partitioned_alike
from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Using
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.refresh_options import Difference
from airflow_ddlrepl.ports.types import TypeSystem

Sql = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relayout:
    """A relayout is the SQL that gives a table another layout, in two parts around the repair of its rows.

    before: the steps to make before rows are written, each as the ways that are tried in turn; after: the rest.
    The table takes the rows of its source in between, though old rows may show anything in what is new.
    """

    before: tuple[tuple[Sql, ...], ...]
    after: Sql


def relayout(
    existing: Table,
    recorded: Table | None,
    wanted: Table,
    render: Renderer,
    types: TypeSystem,
    mask: Collection[Difference] = (),
) -> Relayout:
    """Return the SQL that alters an existing target table to the wanted shape without emptying it.

    existing: as inspected at the target. recorded: its shape with the source's ids, if the channel knows it.
    mask: rows may stay as they are then, and a mandatory column is filled with its default. Types are not created
    here. Raises Unsupported ADP-107 or ADP-112 where no ALTER gets there.
    """
    if not partitioned_alike(existing, wanted):
        raise Unsupported("the table is partitioned in another way", code="ADP-107", table=wanted.name)
    shape = _recognized(existing, recorded, wanted).with_(types=wanted.types)
    open_ = _open(shape, wanted, mask)
    before = [
        _ways(change, at, render) for change, at in _walk(shape, open_, types) if not isinstance(change, TYPE_CHANGES)
    ]
    after = [sql for change, at in _walk(open_, wanted, types) for sql in render.sql(change, at)]
    return Relayout(tuple(way for way in before if any(way)), tuple(after))


def _walk(shape: Table, wanted: Table, types: TypeSystem) -> Iterator[tuple[SchemaChange, Table]]:
    for change in diff(shape, wanted, types):
        yield change, shape
        shape = change.apply(shape) or shape


def _ways(change: SchemaChange, shape: Table, render: Renderer) -> tuple[Sql, ...]:
    if not isinstance(change, ChangeType):
        return (render.sql(change, shape),)
    return tuple(render.sql(replace(change, using=using), shape) for using in (Using.EXPLICIT, Using.BY_TEXT))


def _recognized(existing: Table, recorded: Table | None, wanted: Table) -> Table:
    """Return the existing table as `as_seen` does; one that was renamed since `recorded` counts as the same."""
    now = {column.id: column.name for column in wanted.columns}
    names = {c.name: now.get(c.id, f"{c.name} that is gone\0") for c in (recorded.columns if recorded else ())}
    called = {c.id: names.get(c.name, c.name) for c in existing.columns}
    if len(set(called.values())) < len(called):
        raise Unsupported("two columns would have one name", code="ADP-112", table=wanted.name)
    own = {called[c.id]: c.name for c in existing.columns}
    seen = as_seen(existing.with_(columns=tuple(replace(c, name=called[c.id]) for c in existing.columns)), wanted)
    return seen.with_(columns=tuple(replace(c, name=own[c.name]) for c in seen.columns))


def _open(shape: Table, wanted: Table, mask: Collection[Difference]) -> Table:
    """Return the wanted shape without what old rows may not fulfil yet: NOT NULL and identity are left for later."""
    there = {column.id: column for column in shape.columns}

    def without_constraints(column: Column) -> Column:
        old = there.get(column.id)
        if column.generated:
            return column
        is_filled = old is None and bool(mask) and column.default is not None
        nullable = column.nullable or ((old is None or old.nullable) and not is_filled)
        return replace(column, nullable=nullable, identity=column.identity if old and old.identity else "")

    return wanted.with_(columns=tuple(without_constraints(column) for column in wanted.columns))
