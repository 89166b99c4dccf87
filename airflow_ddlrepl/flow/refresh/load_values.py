"""A load is a change, too: the rows that it brings have values of it in the columns that take those of changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Using
from airflow_ddlrepl.engines.load_plan import ShadowChange, Step, UnfitValues
from airflow_ddlrepl.flow.refresh.row_origin import Pairs, TableLoad
from airflow_ddlrepl.mapping.extra_columns import value_of
from airflow_ddlrepl.mapping.misfits import as_text
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.settings.table_settings import CoerceErrorPolicy
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.ports.types import TypeSystem


def with_load_values(shape: Table, at: Position) -> Table:
    """Return the shape of a shadow table whose columns that take a change's values have those of a load as defaults.

    at: the target's position, from which the log goes on after the load.
    """
    values = {
        "operation": "'refresh'",
        "position": f"'{int(at)}'",
        "sequence": "'0'",
        "commit_time": f"'{datetime.now(UTC).isoformat()}'",
    }

    def filled(column: Column) -> Column:
        value = values.get(value_of(column))
        return replace(column, default=value) if value else column

    return shape.with_(columns=tuple(map(filled, shape.columns)))


def with_whole_texts(shape: Table, cut: Pairs) -> Table:
    """Return the shape of a shadow table that takes the texts of a load before they are cut."""
    whole = {ours.id: theirs for theirs, ours in cut}

    def widened(column: Column) -> Column:
        of = whole.get(column.id)
        return replace(column, type=of.type, collation=of.collation, default=None) if of else column

    return shape.with_(columns=tuple(map(widened, shape.columns)))


def cutting(cut: Pairs, shape: Table, shadow: TableName, types: TypeSystem) -> Iterator[ShadowChange]:
    """Yield the changes that cut the texts of a loaded shadow table, and restore its columns' types."""
    return _restored(cut, Using.EXPLICIT, with_whole_texts(shape, cut).with_(name=shadow), types)


def _restored(pairs: Pairs, using: Using, loaded: Table, types: TypeSystem) -> Iterator[ShadowChange]:
    """Yield the changes that give columns of a loaded shadow table the types and defaults that they are to have."""
    for _, ours in pairs:
        change = ChangeType.between(loaded.column(ours.id), ours, types)
        yield ShadowChange(replace(change, using=using), loaded)
        if ours.default:
            yield ShadowChange(ChangeDefault(ours.id, ours.name, None, ours.default), loaded)


def with_texts(shape: Table, load: TableLoad) -> Table:
    """Return the shape of a shadow table that takes the texts of values which the target's columns may not hold.

    shape: of the shadow. A column that is to hold the source's type there, for an archive, stays so.
    """
    wanted = {ours.id: ours.type for _, ours in load.unfit}
    columns = (as_text(c) if wanted.get(c.id) == c.type else c for c in shape.columns)
    return shape.with_(columns=tuple(columns))


def fitting(load: TableLoad, loaded: Table, types: TypeSystem) -> Iterator[Step]:
    """Yield the steps that leave in a loaded shadow table what the target's columns hold, and restore their types.

    loaded: the shadow's shape, as it was made.
    """
    if load.unfit:
        yield UnfitValues(tuple(ours for _, ours in load.unfit), load.policy is CoerceErrorPolicy.DISCARD)
        yield from _restored(load.unfit, Using.AS_WRITTEN, loaded, types)


def without_load_values(shape: Table, shadow: TableName) -> Iterator[ShadowChange]:
    """Yield the changes that remove the defaults of `with_load_values` from a loaded shadow table.

    shape: of the table that the shadow becomes.
    """
    for column in shape.columns:
        if value_of(column):
            change = ChangeDefault(column.id, column.name, "''", column.default)
            yield ShadowChange(change, shape.with_(name=shadow))
