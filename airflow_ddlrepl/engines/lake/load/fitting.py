"""This module says how the values of a load become those that a lake's columns hold, and which rows are left out.

A shadow has it in a file, which the driver writes before tasks load chunks: each chunk is written as the table is to
have it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.lake.load.choice import Choice
from airflow_ddlrepl.engines.lake.types.arrow import as_held, field_for
from airflow_ddlrepl.engines.lake.types.physical import TEXT, columns_sql
from airflow_ddlrepl.engines.lake.types.read_texts import cut, read, required, why_not
from airflow_ddlrepl.engines.loading import LoadTask
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.mapping.misfits import TOLD_DISCARDED, null_warning
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.ports.change_values import Converted

Discarded = tuple[tuple[str, ...], str, dict[str, str | None]]
"""A row that a load discards: the texts of its key, the reason, and the text of each value."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """A fitting is for the rows of one table.

    shape: of the table. constants: the text of the value of each column that no row brings. unfit: columns whose values
    may not fit: they become NULL, or with `discards` their rows are left out. cut: columns whose texts may be too long.
    choice: of archived rows; None: all are taken. absent: columns that are loaded, and that the table does not have,
    with Spark's names of their types.
    """

    shape: Table
    constants: Mapping[str, str] = field(default_factory=dict)
    unfit: Collection[str] = ()
    discards: bool = False
    cut: Collection[str] = ()
    choice: Choice | None = None
    absent: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the fitting as a JSON object."""
        return {
            "shape": self.shape.to_json(),
            "constants": dict(self.constants),
            "unfit": [*self.unfit],
            "discards": self.discards,
            "cut": [*self.cut],
            "choice": self.choice.to_json() if self.choice else None,
            "absent": dict(self.absent),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fitting:
        """Return the fitting that `to_json` wrote."""
        rest = {name: value for name, value in data.items() if name not in ("shape", "choice")}
        choice = Choice.from_json(data["choice"]) if data["choice"] else None
        return cls(Table.from_json(data["shape"]), choice=choice, **rest)


class FittedRows:
    """These are the rows of one chunk, as the table is to have them; what is told of them is known when all are read.

    discarded: rows that are left out. nulled: how many values became NULL, by column.
    """

    def __init__(self, task: LoadTask, fitting: Fitting) -> None:
        self.task, self.fitting = task, fitting
        self.types = {**columns_sql(fitting.shape), **fitting.absent}
        self.columns = {column.name: column for column in fitting.shape.columns}
        read_texts = {column.name for column in task.by_text} | set(fitting.unfit) | set(fitting.cut)
        self.by_text = set(task.columns) if fitting.discards and fitting.unfit else read_texts & set(task.columns)
        self.discarded: list[Discarded] = []
        self.nulled: dict[str, int] = {}

    def batches(self) -> Iterator[dict[str, pa.Array]]:
        """Yield batches of rows by the names of their columns. Raises RowsRefused INT-105 for a value that is unfit."""
        held = [TEXT if name in self.by_text else self.types[name] for name in self.task.columns]
        read_as = pa.schema([field_for(name, of) for name, of in zip(self.task.read, held, strict=True)])
        for rows, unfit in self.task.rows.typed(read_as):
            values = {
                name: as_held(Converted(found, unfit.get(theirs)), of, name)
                for name, theirs, found, of in zip(self.task.columns, self.task.read, rows.columns, held, strict=True)
            }
            values, count = self._chosen(values, rows.num_rows)
            yield {**self._fitted(values), **self._constants(count - self._left)}

    @property
    def written(self) -> list[str]:
        """Return the names of the columns that the rows have."""
        return [name for name in self.task.columns if name not in self.fitting.absent] + [*self.fitting.constants]

    def _chosen(self, values: dict[str, pa.Array], count: int) -> tuple[dict[str, pa.Array], int]:
        """Return the rows that are chosen, without the columns that the table does not have, and how many these are."""
        if self.fitting.choice is not None and count:
            flags = self.fitting.choice.true_rows(values)
            count = pc.sum(flags).as_py()
            values = {name: one.filter(flags) for name, one in values.items()}
        return {name: one for name, one in values.items() if name not in self.fitting.absent}, count

    @property
    def warnings(self) -> list[str]:
        """Return what a person is told of the rows."""
        found = [f"{count}{null_warning(self.columns[name])}" for name, count in self.nulled.items()]
        return [*found, *([f"{len(self.discarded)}{TOLD_DISCARDED}"] if self.discarded else [])]

    _left = 0
    """How many rows the batch has lost."""

    def _fitted(self, values: dict[str, pa.Array]) -> dict[str, pa.Array]:
        if self.by_text and self.fitting.discards:
            values = self._without_unfit(values)
        return {name: self._values(name, one) if name in self.by_text else one for name, one in values.items()}

    def _values(self, name: str, texts: pa.Array) -> pa.Array:
        column, types = self.columns[name], self.fitting.shape.types
        if name in self.fitting.cut:
            return cut(texts, column)
        if name not in self.fitting.unfit:
            return required(texts, column, types)
        found = read(texts, column, types)
        count = found.null_count - texts.null_count
        if count and not column.nullable:
            raise RowsRefused(
                f"{count}{null_warning(column)}: the column is NOT NULL",
                code="INT-105",
                hint="correct the values at the source, or name another policy in `target_tables`",
            )
        if count:
            self.nulled[name] = self.nulled.get(name, 0) + count
        return found

    def _without_unfit(self, texts: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Return the rows of which every value fits; note the others."""
        reasons = {
            name: why_not(texts[name], self.columns[name], self.fitting.shape.types) for name in self.fitting.unfit
        }
        fits = pc.invert(_any_of([pc.is_valid(one) for one in reasons.values()]))
        key = [column.name for column in _key_columns(self.fitting.shape)]
        gone = {name: one.filter(pc.invert(fits)).to_pylist() for name, one in texts.items()}
        told = {name: one.filter(pc.invert(fits)).to_pylist() for name, one in reasons.items()}
        self._left = pc.sum(pc.invert(fits)).as_py() or 0
        for place in range(self._left):
            why = "; ".join(f"{name}: {one[place]}" for name, one in told.items() if one[place] is not None)
            row = {name: one[place] for name, one in gone.items()}
            self.discarded.append((tuple(str(row[name]) for name in key), why, row))
        return {name: one.filter(fits) for name, one in texts.items()}

    def _constants(self, count: int) -> dict[str, pa.Array]:
        found = {}
        for name, text in self.fitting.constants.items():
            value = required(pa.array([text]), self.columns[name], self.fitting.shape.types)
            found[name] = pa.repeat(value[0], count)
        return found


def _key_columns(shape: Table) -> list[Column]:
    ids = sorted(shape.key.columns if shape.key else ())
    return [shape.column(number) for number in ids]


def _any_of(flags: list[pa.Array]) -> pa.Array:
    found = flags[0]
    for one in flags[1:]:
        found = pc.or_(found, one)
    return found
