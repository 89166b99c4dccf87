"""This module preserves columns that only the target's table has, when it is loaded again.

They are those that people added, and those of the channel that the source does not have any more. Their values stay,
by key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from airflow_ddlrepl.engines.target_state import Placing
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.target_columns import history_columns


@dataclass(frozen=True, slots=True)
class TargetOnly:
    """These are the columns of a table that only the target has; all names are as the loaded table has them."""

    added: Mapping[str, str]
    """Those that people added, with the target's name of the type of each."""
    before: Mapping[str, str]
    """What each of these columns, with those of the channel that the source has no more, is called in the old table."""
    key: Mapping[str, str]
    """What each column of the key is called there."""


def target_only(
    there: Mapping[str, str], placing: Placing, has_values: Callable[[Collection[str]], bool]
) -> TargetOnly:
    """Return the columns that stay with their values.

    there: the columns of the table that is there, with the target's names of their types; empty: there is none.
    has_values: has one of its rows a value in one of these columns? Raises CannotAdapt ADP-105 where a new column of
    the source has the name of one that people added, ADP-132 where values would be lost, because there is no key to
    find them by.
    """
    shape, recorded = placing.state.shape, placing.recorded
    known = {column.name for column in recorded.columns} if recorded else {*there}
    if clash := next((c.name for c in shape.columns if c.name in there and c.name not in known), None):
        raise CannotAdapt(
            f"the target table has a column {clash} of its own",
            code="ADP-105",
            table=placing.state.name,
            hint="rename or drop that column at the target",
        )
    ids = {column.id: column.name for column in recorded.columns} if recorded else {}
    names = {column.name: ids.get(column.id, column.name) for column in shape.columns}
    added = {name: of for name, of in there.items() if name not in known and name not in names}
    kept = {name: names[name] for name in placing.keeps if names[name] in there}
    key = {column.name: names[column.name] for column in shape.key_columns()}
    found = TargetOnly(added, {**kept, **{name: name for name in added}}, key)
    if recorded and history_columns(recorded) and history_columns(shape):  # its rows stay, and others come
        return replace(found, before={})
    if not found.before or (key and all(name in there for name in key.values())):
        return found
    if has_values(found.before.values()):
        raise CannotAdapt(
            "the target's table has columns of its own, and no key by which their values could be preserved:"
            f" {next(iter(found.before))}",
            code="ADP-132",
            table=placing.state.name,
            hint="move those columns to a table beside it, or drop them, and run again",
        )
    return replace(found, before={})
