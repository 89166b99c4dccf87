"""This module defines what a comparison finds: values that print as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.visible import as_lines


class Kind(StrEnum):
    """A kind of difference says how a row differs, seen from the source: it is missing, extra or different."""

    MISSING = "missing"
    EXTRA = "extra"
    DIFFERENT = "different"


KEY_LENGTH = 300


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row difference is one row that differs between source and target.

    key: as text, `(7,b)`; of a table without a key the whole row.
    columns: names at the target whose values differ, of a different row. copies: how many rows more or less.
    """

    kind: Kind
    key: str
    columns: tuple[str, ...] = ()
    copies: int = 1

    def __str__(self) -> str:
        where = f" in {', '.join(self.columns)}" if self.columns else ""
        return f"{self.kind} row {self.key}{where}{f', {self.copies} times' if self.copies > 1 else ''}"

    @property
    def cut(self) -> RowDifference:
        """Return the difference with a key that is not too long to be shown."""
        return self if len(self.key) <= KEY_LENGTH else replace(self, key=self.key[:KEY_LENGTH] + "…")


@dataclass(frozen=True, slots=True)
class TableReport:
    """A table report is the result of comparing one table.

    structure: what differs in its shape. behind: those of `structure` where the target is behind the source's shape.
    rows: the first differing rows, by key. unlike: all of them that were read, with their whole keys.
    missing, extra, different: how many rows; exact unless is_partial (then at least so many).
    columns: how many were compared. seconds: how long it took. waits: the next cycle brings the table.
    may_differ: why rows may differ, because changes are left out on purpose. discarded: how many of the source's rows
    do not fit the target's columns and are not to be there (`coerce_error_policy`); they are no differences.
    at: the channel's name of the target. in_flight: how many rows are not at the target yet, or not as at the source:
    the log that it has not applied changes them, so they are no differences. on_their_way: the same of its shape.
    undecided: why nobody can say which of its rows really differ; such rows are in none of the counts.
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
    at: str = ""
    in_flight: int = 0
    on_their_way: tuple[str, ...] = ()
    undecided: str = ""
    behind: tuple[str, ...] = field(default=(), repr=False)
    unlike: tuple[RowDifference, ...] = field(default=(), repr=False)

    @property
    def differences(self) -> int:
        """Return how many rows and points of the shape differ; 0: source and target are equal."""
        return self.missing + self.extra + self.different + len(self.structure)

    @property
    def is_settled(self) -> bool:
        """Return whether the target has everything of the table, as far as that is known."""
        return not self.in_flight and not self.on_their_way and not self.undecided

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

    def not_arrived(self) -> Iterator[str]:
        """Yield what the target does not have yet, and what nobody can tell, one a line; these are no differences."""
        for found in self.on_their_way:
            yield f"{self.table}: not at the target yet: {found}"
        if self.in_flight:
            yield f"{self.table}: {self.in_flight} rows are not at the target yet"
        if self.undecided:
            yield f"{self.table}: can't tell which rows differ: {self.undecided}"

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        data = asdict(replace(self, unlike=(), behind=()))
        del data["unlike"], data["behind"]
        return {**data, "table": str(self.table), "target": str(self.target), "differences": self.differences}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison is the result for all tables of one target, or of several.

    left_out: tables that were not compared, for their rows are not in the stream, and why.
    repaired: tables that differed, were repaired row by row, and differ no more. unrepaired: those that still differ
    after that. sequences: what a target's sequences lack, in words. moved_sequences: those that the source's have only
    moved on from since the target was last brought to them: no differences.
    position: of the source's log: what differs differs still once the targets have applied the log up to there; empty:
    the channel is not active. targets: the position of each when the comparison began.
    """

    tables: tuple[TableReport, ...] = ()
    seconds: float = 0.0
    left_out: Mapping[str, str] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()
    unrepaired: tuple[str, ...] = ()
    sequences: tuple[str, ...] = ()
    moved_sequences: tuple[str, ...] = ()
    position: str = ""
    targets: Mapping[str, str] = field(default_factory=dict)

    @property
    def differences(self) -> int:
        """Return the number of differences over all tables and sequences; 0: source and target are equal."""
        return sum(table.differences for table in self.tables) + len(self.sequences)

    @property
    def in_flight(self) -> int:
        """Return how many rows, points of the tables' shapes and moves of sequences the targets do not have yet."""
        return self.tables_in_flight + len(self.moved_sequences)

    @property
    def tables_in_flight(self) -> int:
        """Return how many rows and points of the tables' shapes the targets do not have yet."""
        return sum(table.in_flight + len(table.on_their_way) for table in self.tables)

    @property
    def undecided(self) -> Mapping[str, str]:
        """Return the tables of which nobody can say which rows really differ, and why."""
        return {str(table.table): table.undecided for table in self.tables if table.undecided}

    @property
    def is_equal(self) -> bool:
        """Return whether all tables were compared, nothing differs, and no row is discarded.

        Rows that the targets do not have yet are no differences.
        """
        return not self.differences and not self.left_out and not self.discarded and not self.undecided

    @property
    def discarded(self) -> int:
        """Return how many rows of the source the targets do not have, because they do not fit the columns there."""
        return sum(table.discarded for table in self.tables)

    def lines(self) -> list[str]:
        """Return every difference that the reports name, one a line."""
        return [*(self._named(table, line) for table in self.tables for line in table.lines()), *self.sequences]

    def not_arrived(self) -> list[str]:
        """Return what the targets do not have yet, and what nobody can tell, one a line."""
        found = [self._named(table, line) for table in self.tables for line in table.not_arrived()]
        return [*found, *self.moved_sequences]

    def _named(self, table: TableReport, line: str) -> str:
        return f"target {table.at}: {line}" if table.at and len(self.targets) > 1 else line

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object, as `--json` prints it."""
        return {
            "differences": self.differences,
            "found": self.lines(),
            "position": self.position,
            "targets": dict(self.targets),
            "in_flight": self.in_flight,
            "waiting": self.not_arrived(),
            "undecided": dict(self.undecided),
            "rows": sum(table.source_rows for table in self.tables),
            "tables": [table.to_json() for table in self.tables],
            "left_out": dict(self.left_out),
            "discarded": self.discarded,
            "repaired": list(self.repaired),
            "unrepaired": list(self.unrepaired),
            "sequences": list(self.sequences),
            "moved_sequences": list(self.moved_sequences),
            "seconds": self.seconds,
        }

    def text(self) -> str:
        """Return a table with one line per compared table, then every difference that the reports name."""
        heads = ("table", "columns", "rows", "missing", "extra", "different", "shape", "not yet")
        body = [_cells(t) for t in self.tables]
        widths = [max(len(row[i]) for row in (heads, *body)) for i in range(len(heads))]
        lines = [_line(row, widths) for row in (heads, *body)]
        lines += self.lines()
        lines += self.not_arrived()
        lines += [f"{name} is left out and was not compared: {why}" for name, why in self.left_out.items()]
        lines += [f"{name} was repaired" for name in self.repaired]
        lines += [f"{name} still differs after the repair: {_HELP}" for name in self.unrepaired]
        rows = sum(t.source_rows for t in self.tables)
        total = f"{len(self.tables)} tables, {rows} rows, {self.differences} differences"
        total += f", {self.in_flight} not at the targets yet" if self.in_flight else ""
        total += f", {len(self.undecided)} undecided" if self.undecided else ""
        total += f", {len(self.left_out)} not compared" if self.left_out else ""
        total += f", {self.discarded} rows discarded" if self.discarded else ""
        return as_lines([*lines, *self._positions(), total])

    def _positions(self) -> Iterator[str]:
        if self.position:
            places = ", ".join(f"target {name} at {position}" for name, position in self.targets.items())
            yield f"this holds for {self.position} of the source's log ({places})"


_HELP = (
    "columns that the target computes by itself differ for good,"
    " until the source's expression or the target's collation changes"
)


def _cells(table: TableReport) -> tuple[str, ...]:
    rows = str(table.source_rows)
    if table.target_rows != table.source_rows:
        rows += f" / {table.target_rows}"
    least = "≥" if table.is_partial else ""
    counts = (f"{least}{n}" if n else "0" for n in (table.missing, table.extra, table.different))
    not_arrived = str(table.in_flight + len(table.on_their_way)) + ("?" if table.undecided else "")
    return (str(table.table), str(table.columns), rows, *counts, str(len(table.structure)), not_arrived)


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = (f"{c:<{w}}" if i == 0 else f"{c:>{w}}" for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
    return "  ".join((first, *rest)).rstrip()
