"""Find what several TABLE or MAP parameters say of one table that one channel can't do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_ddlrepl.goldengate.parameters.extract import TableParameter
from airflow_ddlrepl.goldengate.parameters.mapping import mapped
from airflow_ddlrepl.goldengate.parameters.overlaps import hidden, named_in_full
from airflow_ddlrepl.goldengate.parameters.replicat import MapParameter
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.import_findings import Fate

Repeated = tuple[int, Fate, str]
"""The number of a parameter, what becomes of it, and why."""


def repeated_tables(entries: Sequence[TableParameter | MapParameter]) -> Iterator[Repeated]:
    """Yield the parameters that are about tables of which an earlier one says something else."""
    for number, first in hidden(entries):
        why = f"{entries[first].label} before it lists its tables with other options: the first decides about rows"
        yield number, Fate.REFUSED, why
    yield from _names(entries)


def _names(entries: Sequence[TableParameter | MapParameter]) -> Iterator[Repeated]:
    """Yield the MAPs of tables named in full that give one several names, or several one name."""
    targets: dict[TableName, TableName] = {}
    sources: dict[TableName, TableName] = {}
    for number, one in enumerate(entries):
        name = named_in_full(one.pattern) if isinstance(one, MapParameter) else None
        if name is None or not isinstance(one, MapParameter):
            continue
        target = mapped(name, one)
        if sources.setdefault(target, name) != name:
            yield number, Fate.REFUSED, f"{sources[target]} goes to {target}, too: two tables can't be one"
        elif targets.setdefault(name, target) != target:
            why = "is its target before, too: the channel has a target of its own for the second, NAME.2"
            yield number, Fate.ATTENTION, f"{targets[name]} {why} (docs/goldengate.md)"
