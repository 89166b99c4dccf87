"""This module orders the changes of several tables, so that no table takes a name that is in use."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_ddlrepl.ddl.base.edit import renames_in_order
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table

Pair = tuple[Table | None, Table | None]


def in_order(old: Iterable[Table], new: Iterable[Table]) -> list[Pair]:
    """Return every table that is in one of the two states as a pair (before, after), matched by identity.

    Drops come first, then renames (a swap of two names is three pairs, one of them goes aside), then
    what stays, then new tables; partitioned tables before their partitions.
    """
    before, after = {t.id: t for t in old}, {t.id: t for t in new}
    pairs: list[Pair] = [(t, None) for t in before.values() if t.id not in after]
    both = {i: (before[i], after[i]) for i in before if i in after}
    pairs += _renamed(both, frozenset(t.name for t in before.values() if t.id in after))
    pairs += [p for p in both.values() if p[0].name == p[1].name]
    return pairs + [(None, t) for t in sorted(after.values(), key=_depth) if t.id not in before]


def _renamed(both: dict[int, tuple[Table, Table]], in_use: frozenset[TableName]) -> list[Pair]:
    coded = {name: str(name.schema) + "\0" + name.name for name in in_use}
    wish = {i: (_code(a.name), _code(b.name)) for i, (a, b) in both.items() if a.name != b.name}
    pairs: list[Pair] = []
    at = {i: a for i, (a, _) in both.items()}
    for i, _, to in renames_in_order(wish, frozenset(coded.values())):
        final = both[i][1]
        schema, found, name = to.partition("\0")
        target = TableName(schema, name) if found else TableName(at[i].name.schema, to)
        step = final if target == final.name else at[i].with_(name=target)
        pairs.append((at[i], step))
        at[i] = step
    return pairs


def _code(name: TableName) -> str:
    return f"{name.schema}\0{name.name}"


def _depth(table: Table) -> int:
    """Partitioned tables first; a partition that is itself partitioned stands between."""
    return 2 * (table.partition is not None) + (not table.is_partitioned)
