"""This module defines what captures the rows of a table by triggers, as somebody may have changed it since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position

BEGINNING = Position(0)


@dataclass(frozen=True, slots=True)
class CapturedPart:
    """A captured part holds rows of a captured table: the table itself, or a partition of it at any depth.

    name: with its schema. rows, truncation: versions of the triggers that capture its row changes, and that note a
    TRUNCATE of it; empty: it has none. problem: why a trigger does not fire always, in words. arrival: how rows got
    into a partition before it had triggers, in words. clones: versions that the row trigger can have of which nobody
    has changed it since the partition came; empty: not known.
    """

    name: str
    rows: str
    truncation: str = ""
    problem: str = ""
    arrival: str = ""
    clones: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CapturedTable:
    """A captured table has triggers that capture its rows, as the source has them now.

    id: another one where another table has the name. name: the versions of the rows of the catalog that hold it, each
    with the rest of the row. function: the version of the triggers' function. parts: by id. elsewhere: names of earlier
    parts that are tables of their own now.
    """

    id: int
    name: tuple[tuple[str, str], ...]
    function: str
    parts: Mapping[int, CapturedPart] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the table as a JSON object, without what tells of a single look."""
        parts = {str(i): [one.name, one.rows, one.truncation] for i, one in self.parts.items()}
        return {"id": self.id, "name": [list(one) for one in self.name], "function": self.function, "parts": parts}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the table that `to_json` wrote."""
        parts = {int(i): CapturedPart(*one) for i, one in data["parts"].items()}
        name = tuple((version, rest) for version, rest in data["name"])
        return cls(data["id"], name, data["function"], parts)


@dataclass(frozen=True, slots=True)
class Uncaptured:
    """This says that row changes of a table were not captured between two positions, or may not have been.

    why: in words. is_noted: a person has seen it. is_truncation: all that is missing is a TRUNCATE.
    """

    since: Position
    until: Position
    why: str
    is_noted: bool = False
    is_truncation: bool = False

    def __str__(self) -> str:
        bounds = f"between {self.since} and {self.until}" if self.since else f"before {self.until}"
        return f"{bounds}: {self.why}"

    def to_json(self) -> list[Any]:
        """Return the values as a JSON array."""
        return [int(self.since), int(self.until), self.why, self.is_noted, self.is_truncation]

    @classmethod
    def from_json(cls, data: list[Any]) -> Self:
        """Return what `to_json` wrote."""
        since, until, *rest = data
        return cls(Position(since), Position(until), *rest)


@dataclass(frozen=True, slots=True)
class Captured:
    """This is what the last look at a synchronous capture's triggers has left.

    at: where the log ended then. tables: as they were. missed: row changes of tables that were not captured.
    """

    at: Position = BEGINNING
    tables: Mapping[TableName, CapturedTable] = field(default_factory=dict)
    missed: Mapping[TableName, Uncaptured] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the values as a JSON object."""
        tables = [[*name, one.to_json()] for name, one in self.tables.items()]
        return {"at": int(self.at), "tables": tables, "missed": [[*n, one.to_json()] for n, one in self.missed.items()]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return what `to_json` wrote."""
        tables = {TableName(*name): CapturedTable.from_json(one) for *name, one in data["tables"]}
        missed = {TableName(*name): Uncaptured.from_json(one) for *name, one in data["missed"]}
        return cls(Position(data["at"]), tables, missed)
