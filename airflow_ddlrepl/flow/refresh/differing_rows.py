"""A row-wise refresh reads only rows in ranges of the key that differ, where the target's table is as it was loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from airflow_ddlrepl.ddl.base.same_shape import same_type
from airflow_ddlrepl.engines.differing import Differing
from airflow_ddlrepl.flow.refresh.row_origin import RowOrigin, TableLoad
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.refresh_options import RefreshOptions

_INTEGERS = ("smallint", "integer", "bigint")


def is_as_loaded(load: TableLoad, before: Table | None, options: RefreshOptions) -> bool:
    """Return whether a table's rows may be compared by ranges of its key, before they are loaded.

    All of its rows go into a table of the same columns, whose values are the source's. Other tables are loaded whole
    and compared row by row: for columns of the target's own, conditions, functions, another type or layout than before.
    before: the shape that the channel has made the target's table; None: it has made none.
    """
    return options.is_by_row and before is not None and load.after.shape == before and is_copy(load)


def is_copy(load: TableLoad) -> bool:
    """Return whether a load gives the target's table just the source's rows and columns, which one integer tells apart.

    No condition, function or column of the target's own, and no other type, changes anything.
    """
    shape, pairs, key = load.after.shape, load.columns, load.table.key
    if load.limit is not None or load.cut or load.discarded or load.policy.replaces:
        return False
    if load.condition is not None or load.transform is not None or len(pairs) != len(shape.columns):
        return False
    if key is None or shape.key is None or shape.key.columns != key.columns or len(key.columns) != 1:
        return False
    alike = all(same_type(theirs.type, ours.type) and not ours.extra for theirs, ours in pairs)
    return alike and all(c.type.text in _INTEGERS for c, _ in pairs if c.id in key.columns)


def differing(origin: RowOrigin, loads: Sequence[TableLoad], at_once: int) -> Mapping[int, Differing]:
    """Return, by id, the rows of tables of which only some have to be loaded. at_once: how many tables are searched."""
    with ThreadPoolExecutor(max(1, at_once)) as pool:
        found = pool.map(origin.differing, loads)
        return {load.table.id: one for load, one in zip(loads, found, strict=True) if one is not None}
