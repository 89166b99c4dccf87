"""Tables of a target that receive the messages of subset rules should have no other rows than these let through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_ddlrepl.engines.abilities.lcr_target import RowCondition
from airflow_ddlrepl.flow.streams.instantiation.instantiation_plan import way_of
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.streams.queue.insert_route import InsertRoute, Outcome, table_of

OUTSIDE_MEANS = (
    "a row that comes into the subset may find such a row in its place, and nothing removes one that is outside"
)


@dataclass(frozen=True)
class TargetSubset:
    """A target's subset is which rows a table may have that all come by subset rules.

    conditions: in one of the sequences all are true for each row. rules: their names, with the clients that have them.
    """

    conditions: tuple[tuple[RowCondition, ...], ...]
    rules: tuple[str, ...]

    def __str__(self) -> str:
        return f"the condition of {', or of '.join(self.rules)}"


def subsets_of(routes: Sequence[InsertRoute], tables: Sequence[Table]) -> dict[TableName, TargetSubset]:
    """Return for tables of the target that get the rows of subsets alone which rows these are.

    routes: of all rows that come to the target. A table is left out where a function may have changed the rows, or
    where a column of a condition does not come to the target.
    """
    found: dict[TableName, list[Outcome]] = {}
    for table in tables:
        for route in routes:
            for one in way_of(table, route).outcomes:
                found.setdefault(table_of(one.batch), []).append(one)
    return {
        name: TargetSubset(
            tuple(_conditions(one) for one in outcomes),
            tuple(dict.fromkeys(text for one in outcomes for subset in one.subsets for text in subset.rules)),
        )
        for name, outcomes in found.items()
        if all(one.is_certain and not one.source_function and one.subsets and _is_readable(one) for one in outcomes)
    }


def _names(one: Outcome) -> dict[int, str]:
    return {column.id: column.name for column in one.batch.shape.columns}


def _is_readable(one: Outcome) -> bool:
    names = _names(one)
    return all(number in names for subset in one.subsets for number in subset.columns.values())


def _conditions(one: Outcome) -> tuple[RowCondition, ...]:
    names = _names(one)
    return tuple(
        RowCondition(subset.condition, subset.about, {name: names[number] for name, number in subset.columns.items()})
        for subset in one.subsets
    )
