"""This module says of each column of net rows whose values it has, and how the target's column takes them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_ddlrepl.mapping.misfits import is_cut, may_not_fit
from airflow_ddlrepl.model.settings.table_settings import CoerceErrorPolicy, OwnColumns
from airflow_ddlrepl.model.table import Column, Table


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A row column is one column of net rows, with the target's column that takes its values."""

    name: str
    """Its name in the rows, after `a_`, `b_` or `h_`: the source's, or of no source (`change_columns`)."""
    target: Column
    source: Column | None = None
    """None: its values are of the change, and not of the source's row."""
    encoding: str = "native"
    """How the trail writes the source's values; what a function has computed is `text`."""
    is_key: bool = False
    is_set: bool = True
    """Does an update set it?"""
    is_by_text: bool = False
    """Is the value what the target's type reads from the text that the source's type writes?"""
    is_cut: bool = False
    """Is a text cut that is longer than the target's column may be?"""

    @property
    def id(self) -> int:
        """Return the number of the column, at the source and at the target."""
        return self.target.id


def row_columns(
    source: Table, target: Table, encodings: Mapping[str, str], loose_keys: Collection[int] = ()
) -> tuple[RowColumn, ...]:
    """Return the columns that both shapes and the rows have; a generated column of the target is left out.

    encodings: by the source's name. loose_keys: ids of key columns whose equal values may look different.
    """
    ours = {column.id: column for column in target.columns if not column.generated}
    keys = set(source.key.columns) if source.key else set()
    return tuple(
        RowColumn(
            name=column.name,
            target=ours[column.id],
            source=column,
            encoding=encodings[column.name],
            is_key=column.id in keys,
            is_set=column.id not in keys or column.id in loose_keys,
        )
        for column in source.columns
        if column.id in ours and column.name in encodings
    )


def change_columns(target: Table) -> tuple[RowColumn, ...]:
    """Return the columns of a target's table that every change sets to a value of its own.

    In the rows they are called by a zero byte and the column's number: no column of a source has such a name.
    """
    return tuple(RowColumn(f"\0{column.id}", column) for column in target.columns if column.extra)


def unfit_columns(columns: Sequence[RowColumn], policy: CoerceErrorPolicy) -> tuple[RowColumn, ...]:
    """Return the columns that may have values which the target's column can't hold, where the policy replaces these.

    Values of a key can't become NULL; a row with such a key can be discarded.
    """
    wanted = [one for one in columns if policy is CoerceErrorPolicy.DISCARD or not one.is_key]
    return tuple(one for one in wanted if one.source and may_not_fit(one.source, one.target)) if policy.replaces else ()


def with_settings(columns: Sequence[RowColumn], unfit: Sequence[RowColumn], own: OwnColumns) -> tuple[RowColumn, ...]:
    """Return the columns with how the channel file wants their values to be read. Those of a key stay as they are.

    unfit: those of `unfit_columns`.
    """
    by_text = {one.id for one in unfit}
    cuts = own.misfits is CoerceErrorPolicy.TRUNCATE

    def read(one: RowColumn) -> RowColumn:
        if one.is_key or one.source is None:
            return one
        is_text = one.id in by_text or one.name in own.types
        return replace(one, is_by_text=is_text, is_cut=cuts and is_cut(one.source, one.target))

    return tuple(map(read, columns))


def fills(columns: Sequence[RowColumn], target: Table) -> Iterator[Column]:
    """Yield the target's columns that are younger than the rows, and have what the source shows there (`missing`).

    Other columns that the rows do not have take their default.
    """
    known = {column.id for column in columns}
    for column in target.columns:
        if column.id not in known and column.missing is not None and not column.generated:
            yield column
