"""With HVR's defaults a table that does not follow its source takes the values of the columns that have its names."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.model.table import Key, Table


def linked_by_name(existing: Table, before: Table, after: Table) -> Table:
    """Return a target's table, which stays as it is, with the source's ids of the columns that it takes values of.

    existing: the target's table, with the ids that it had until now. before, after: the source's table before and after
    the change, with the names for this target. A column that has another name now gives no more values to the column
    that it gave them to; a renamed or new one gives them to a column of its name that gets none. Columns without values
    have negative ids.
    """
    were = {column.id: column.name for column in before.columns}
    named = {column.id: column.name for column in after.columns if were.get(column.id) != column.name}
    if not named:
        return existing
    lowest = min(0, *(column.id for column in existing.columns))
    ids = {column.id: column.id for column in existing.columns}
    for number in ids.keys() & named.keys() & were.keys():
        lowest -= 1
        ids[number] = lowest
    sources = {column.id for column in after.columns}
    free = {c.name: c.id for c in existing.columns if ids[c.id] not in sources and not c.extra}
    for number, name in named.items():
        if name in free:
            ids[free[name]] = number
    columns = sorted((replace(c, id=ids[c.id]) for c in existing.columns), key=lambda c: c.id)
    return existing.with_(
        columns=tuple(columns), key=_key(existing.key, ids), second_key=_key(existing.second_key, ids)
    )


def without_values(existing: Table, after: Table) -> tuple[str, ...]:
    """Return the names of a target's columns that no column of the source's table gives values to."""
    known = {column.id for column in after.columns}
    return tuple(c.name for c in existing.columns if c.id not in known and not c.extra and not c.generated)


def _key(key: Key | None, ids: dict[int, int]) -> Key | None:
    return replace(key, columns=tuple(ids[number] for number in key.columns)) if key else None
