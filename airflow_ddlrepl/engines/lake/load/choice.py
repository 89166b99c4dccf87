"""This module chooses archived rows by a condition, as the source would choose them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.engines.lake.merge.conditions import Rows, Unanswered, true_rows
from airflow_ddlrepl.engines.lake.types.physical import TEXT, physical
from airflow_ddlrepl.engines.lake.types.read_texts import read
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.notation.condition.parser import condition as parse
from airflow_ddlrepl.notation.condition.parser import spelled


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice has a condition over the columns of a source. places: what each is called where its values are."""

    condition: str
    source: Table
    places: Mapping[str, str]

    @classmethod
    def of(cls, condition: Part, here: Mapping[str, tuple[Column, Column]]) -> Choice:
        """Return the choice by a condition. here: columns of the source, each with the one here, by its name."""
        named = {name: here[name] for name in sorted(condition.names())}
        source = Table(0, TableName("", ""), tuple(theirs for theirs, _ in named.values()))
        return cls(spelled(condition), source, {name: ours.name for name, (_, ours) in named.items()})

    def to_json(self) -> dict[str, Any]:
        """Return the choice as a JSON object."""
        return {"condition": self.condition, "source": self.source.to_json(), "places": dict(self.places)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Choice:
        """Return the choice that `to_json` wrote."""
        return cls(data["condition"], Table.from_json(data["source"]), data["places"])

    def true_rows(self, values: Mapping[str, pa.Array]) -> pa.Array:
        """Return which rows are chosen. values: by the names of the columns here; texts are read.

        Raises RowsRefused INT-105 where that can't be said.
        """
        found = {}
        for column in self.source.columns:
            given = values[self.places[column.name]]
            is_read = pa.types.is_string(given.type) and physical(column.type) != TEXT
            found[column.name] = read(given, column, ()) if is_read else given
        try:
            return true_rows(parse(self.condition), Rows(found, {one.name: one.type for one in self.source.columns}))
        except Unanswered as error:
            raise RowsRefused(
                f"a lake does not read the condition {self.condition}: {error}",
                code="INT-105",
                hint="correct the condition in `restrict`; docs/lakehouse.md has what can be in one",
            ) from None
