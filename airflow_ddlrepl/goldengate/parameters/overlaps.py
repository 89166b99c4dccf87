"""This module finds TABLE and MAP parameters whose options can't hold, because others list the same tables before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_ddlrepl.goldengate.parameters.extract import TableParameter
from airflow_ddlrepl.goldengate.parameters.mapping import mapped
from airflow_ddlrepl.goldengate.parameters.names import NameIndex
from airflow_ddlrepl.goldengate.parameters.replicat import MapParameter
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import is_pattern, split_name_pattern


def hidden(entries: Sequence[TableParameter | MapParameter]) -> Iterator[tuple[int, int]]:
    """Yield the parameters that list only tables which an earlier one lists, to the same target, with other options.

    Each is the number of the parameter, and that of the earlier one, which decides about those tables' rows.
    """
    seen: dict[str, list[int]] = {}
    patterns: dict[str, list[tuple[int, NameIndex]]] = {}
    for number, one in enumerate(entries):
        name = named_in_full(one.pattern)
        alike = seen.setdefault(one.pattern.lower(), [])
        earlier = list(alike)
        alike.append(number)
        if name is None:
            schema = one.pattern.partition(".")[0].lower()
            known = patterns.setdefault("" if is_pattern(schema) or '"' in schema else schema, [])
            known.append((number, NameIndex([one.pattern])))
        else:
            found = (*patterns.get("", ()), *patterns.get(name.schema.lower(), ()))
            earlier += [at for at, index in found if index.matching(name)]
        first = next((at for at in sorted(earlier) if _is_one_target(one, entries[at], name)), None)
        if first is not None and one.options != entries[first].options:
            yield number, first


def named_in_full(pattern: str) -> TableName | None:
    """Return the table that a pattern without wildcards names; None: it has some, or no schema."""
    parts = split_name_pattern(pattern)
    if len(parts) != 2 or is_pattern(pattern):
        return None
    return TableName(*(part.replace('""', "\0").replace('"', "").replace("\0", '"') for part in parts))


def _is_one_target(
    one: TableParameter | MapParameter, other: TableParameter | MapParameter, name: TableName | None
) -> bool:
    """Do both give the tables the same name at the target? A TABLE gives none."""
    if isinstance(one, TableParameter) or isinstance(other, TableParameter):
        return True
    if name is None:
        return one.target.lower() == other.target.lower()
    return mapped(name, one) == mapped(name, other)
