"""This module defines what a comparison finds: values that print as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.visible import as_lines


class Kind(StrEnum):
    """A kind of difference says how a row differs, seen from the source: it is missing, extra or different."""

    MISSING = "missing"
    EXTRA = "extra"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row difference is one row that differs between source and target.

    key: as text, `(7,b)`; of a table without a key the whole row, cut.
    columns: names at the target whose values differ, of a different row. copies: how many rows more or less.
    """

    kind: Kind
    key: str
    columns: tuple[str, ...] = ()
    copies: int = 1

    def __str__(self) -> str:
        where = f" in {', '.join(self.columns)}" if self.columns else ""
        return f"{self.kind} row {self.key}{where}{f', {self.copies} times' if self.copies > 1 else ''}"


@dataclass(frozen=True, slots=True)
class TableReport:
    """A table report is the result of comparing one table.

    structure: what differs in its shape. rows: the first differing rows, by key.
    missing, extra, different: how many rows; exact unless is_partial (then at least so many).
    columns: how many were compared. seconds: how long it took. waits: the next cycle brings the table.
    may_differ: why rows may differ, because changes are left out on purpose. discarded: how many of the source's rows
    do not fit the target's columns and are not to be there (`coerce_error_policy`); they are no differences.
    """

    table: TableName
    target: TableName
    columns: int = 0
    source_rows: int = 0
    target_rows: int = 0
    structure: tuple[str, ...] = ()
    missing: int = 0
    extra: int = 0
    different: int = 0
    rows: tuple[RowDifference, ...] = ()
    is_partial: bool = False
    seconds: float = 0.0
    waits: bool = False
    may_differ: tuple[str, ...] = ()
    discarded: int = 0

    @property
    def differences(self) -> int:
        """Return how many rows and points of the shape differ; 0: source and target are equal."""
        return self.missing + self.extra + self.different + len(self.structure)

    def lines(self) -> Iterator[str]:
        """Yield every difference that the report names, one a line."""
        for found in (*self.structure, *self.rows):
            yield f"{self.table}: {found}"
        rest = self.missing + self.extra + self.different - sum(r.copies for r in self.rows)
        if rest > 0 or self.is_partial:
            yield f"{self.table}: {'at least ' if self.is_partial else ''}{max(rest, 0)} rows more"
        if self.discarded:
            yield f"{self.table}: {self.discarded} rows of the source do not fit and are discarded: ddlrepl errors"
        for why in self.may_differ if self.differences else ():
            yield f"{self.table}: may differ {why}"

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        data = asdict(self)
        return {**data, "table": str(self.table), "target": str(self.target), "differences": self.differences}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison is the result for all tables of one target, or of several.

    left_out: tables that were not compared, for their rows are not in the stream, and why.
    repaired: tables that differed, were refreshed row by row, and differ no more. unrepaired: those that still differ
    after that. sequences: what a target's
    sequences lack, in words.
    """

    tables: tuple[TableReport, ...] = ()
    seconds: float = 0.0
    left_out: Mapping[str, str] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()
    unrepaired: tuple[str, ...] = ()
    sequences: tuple[str, ...] = ()

    @property
    def differences(self) -> int:
        """Return the number of differences over all tables and sequences; 0: source and target are equal."""
        return sum(table.differences for table in self.tables) + len(self.sequences)

    @property
    def is_equal(self) -> bool:
        """Return whether all tables were compared, nothing differs, and no row is discarded."""
        return not self.differences and not self.left_out and not self.discarded

    @property
    def discarded(self) -> int:
        """Return how many rows of the source the targets do not have, because they do not fit the columns there."""
        return sum(table.discarded for table in self.tables)

    def lines(self) -> list[str]:
        """Return every difference that the reports name, one a line."""
        return [*(line for table in self.tables for line in table.lines()), *self.sequences]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object, as `--json` prints it."""
        return {
            "differences": self.differences,
            "found": self.lines(),
            "rows": sum(table.source_rows for table in self.tables),
            "tables": [table.to_json() for table in self.tables],
            "left_out": dict(self.left_out),
            "discarded": self.discarded,
            "repaired": list(self.repaired),
            "unrepaired": list(self.unrepaired),
            "sequences": list(self.sequences),
            "seconds": self.seconds,
        }

    def text(self) -> str:
        """Return a table with one line per compared table, then every difference that the reports name."""
        heads = ("table", "columns", "rows", "missing", "extra", "different", "shape")
        body = [_cells(t) for t in self.tables]
        widths = [max(len(row[i]) for row in (heads, *body)) for i in range(len(heads))]
        lines = [_line(row, widths) for row in (heads, *body)]
        lines += self.lines()
        lines += [f"{name} is left out and was not compared: {why}" for name, why in self.left_out.items()]
        lines += [f"{name} was repaired" for name in self.repaired]
        lines += [f"{name} still differs after the repair: {_HELP}" for name in self.unrepaired]
        rows = sum(t.source_rows for t in self.tables)
        total = f"{len(self.tables)} tables, {rows} rows, {self.differences} differences"
        total += f", {len(self.left_out)} not compared" if self.left_out else ""
        return as_lines([*lines, total + (f", {self.discarded} rows discarded" if self.discarded else "")])


_HELP = (
    "rows that came meanwhile differ until the next cycle; columns that the target computes by itself differ for good,"
    " until the source's expression or the target's collation changes"
)


def _cells(table: TableReport) -> tuple[str, ...]:
    rows = str(table.source_rows)
    if table.target_rows != table.source_rows:
        rows += f" / {table.target_rows}"
    least = "≥" if table.is_partial else ""
    counts = (f"{least}{n}" if n else "0" for n in (table.missing, table.extra, table.different))
    return (str(table.table), str(table.columns), rows, *counts, str(len(table.structure)))


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = (f"{c:<{w}}" if i == 0 else f"{c:>{w}}" for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
    return "  ".join((first, *rest)).rstrip()
