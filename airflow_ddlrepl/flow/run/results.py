"""A result says what a stage did: small, printable, JSON for XCom and the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from airflow_ddlrepl.adapt.plan_model import Executed
from airflow_ddlrepl.labels import worth_showing
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.streams.rules.function_use import FunctionUse
from airflow_ddlrepl.visible import as_lines

NOTHING = "there was nothing to do"


class Printable:
    """A result can be printed as one line per field, or as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON for XCom and --json."""
        return {name: _plain(value) for name, value in asdict(self).items()}  # type: ignore[call-overload]

    def text(self) -> str:
        """Return the result as text for people, one line per field that says something."""
        found = self.to_json()
        seconds = found.pop("seconds", None)
        lines = [f"{name}: {_shown(value)}" for name, value in worth_showing(found)]
        return as_lines([*(lines or [NOTHING]), *([f"took {seconds} s"] if seconds else [])])


def wait_text(found: Mapping[str, str]) -> str:
    """Return in words that changes wait for a target's `apply_every`. found: since and until when."""
    return f"waits until {found['until']} (apply_every): changes were last applied at {found['since']}"


def _plain(value: Any) -> Any:
    if isinstance(value, Position):
        return str(value)
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(_shown(v) for v in value) or "none"
    return str(value)


@dataclass(frozen=True)
class Captured(Printable):
    """This is what one capture did: log positions, what it found by kind, and where the time went (seconds).

    discarded: schema changes that are about no table of the channel, by kind; the server sends it no rows of others.
    left_out: the channel's tables whose rows the log does not bring, and why. functions: that a capture process has
    called. steps: of that process's work, each with the user who has done it. gap: between which positions records of
    schema changes may be missing, and why; empty: none are. lost: the tables that have left the stream and that the
    capture could not put back. undecodable: the tables with names that are no UTF-8. joined_or_left: tables that did
    because the channel file has changed, with the position. outdated: keys of the file that need an activation.
    unpublished: tables whose rows are in no log until then.
    """

    low: Position
    high: Position
    rows: int = 0
    transactions: int = 0
    segments: int = 0
    ddl: dict[str, int] = field(default_factory=dict)
    revisions: int = 0
    drift: int = 0
    seconds: float = 0.0
    discarded: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    functions: tuple[FunctionUse, ...] = ()
    steps: dict[str, str] = field(default_factory=dict)
    gap: str = ""
    lost: tuple[str, ...] = ()
    undecodable: tuple[str, ...] = ()
    joined_or_left: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    unpublished: tuple[str, ...] = ()


@dataclass(frozen=True)
class Adapted(Printable):
    """This is what adapt did: kinds of change, statements run, tables that wait for a refresh and why.

    discarded: changes that a target does not take, by table and reason. new_targets: by name, what became of targets
    that were not prepared for the channel. executed: the statements, with their target. conflicts, waiting: as in
    Integrated.
    """

    changes: dict[str, int] = field(default_factory=dict)
    statements: int = 0
    refreshes: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    discarded: dict[str, int] = field(default_factory=dict)
    new_targets: dict[str, str] = field(default_factory=dict)
    executed: tuple[Executed, ...] = ()
    conflicts: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Refreshed(Printable):
    """This is what a refresh did: rows by table that were loaded, the reasons, and what it warns of."""

    tables: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    def and_then(self, more: Refreshed) -> Refreshed:
        """Return the sum of this result and a later one."""
        seconds = round(self.seconds + more.seconds, 2)
        warnings = (*self.warnings, *more.warnings)
        return Refreshed(self.tables | more.tables, self.reasons | more.reasons, seconds, warnings)


@dataclass(frozen=True)
class Integrated(Printable):
    """This is what integrate did: rows merged (inserted, updated, deleted), each target's position, segments expired.

    discarded: changes that a target does not take, by table and reason. sequences: how many were set, and how many
    statements changed them or the defaults that draw from them. conflicts: changes that found another row at the target
    than they were made to, by table, conflict, its answer and what became of them. warnings: what a person should know
    of what was written. waiting: targets whose changes are not applied yet (`apply_every`): since and until when.
    """

    rows: dict[str, int] = field(default_factory=dict)
    positions: dict[str, Position] = field(default_factory=dict)
    seconds: float = 0.0
    expired: int = 0
    discarded: dict[str, int] = field(default_factory=dict)
    sequences: dict[str, int] = field(default_factory=dict)
    conflicts: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    waiting: dict[str, dict[str, str]] = field(default_factory=dict)

    def and_then(self, more: Integrated) -> Integrated:
        """Return the sum of this result and a later one, with the later positions."""
        rows, left = Counter(self.rows) + Counter(more.rows), Counter(self.discarded) + Counter(more.discarded)
        seconds, expired = round(self.seconds + more.seconds, 2), self.expired + more.expired
        sequences = dict(Counter(self.sequences) + Counter(more.sequences))
        conflicts = dict(Counter(self.conflicts) + Counter(more.conflicts))
        warnings = tuple(dict.fromkeys((*self.warnings, *more.warnings)))
        done = (seconds, expired, dict(left), sequences, conflicts, warnings)
        return Integrated(dict(rows), more.positions, *done, more.waiting)


@dataclass(frozen=True)
class Replicated(Printable):
    """This is what one whole cycle did: the results of its four stages."""

    capture: Captured
    adapt: Adapted
    refresh: Refreshed
    integrate: Integrated

    def to_json(self) -> dict[str, Any]:
        return {name: result.to_json() for name, result in vars(self).items()}

    def text(self) -> str:
        applied = Counter(self.adapt.rows) + Counter(self.integrate.rows)
        ddl = ", ".join(f"{n} {tag}" for tag, n in self.capture.ddl.items()) or "none were captured"
        lines = [
            f"captured {self.capture.rows} rows in {self.capture.transactions} transactions up to {self.capture.high}",
            f"schema changes at the source: {ddl}",
            f"tables loaded: {', '.join(self.refresh.tables) or 'none had to be'}",
            "applied at the targets: " + (", ".join(f"{n} {what}" for what, n in applied.items()) or "no rows"),
        ]
        if self.integrate.sequences:
            lines.append(f"sequences: {_shown(self.integrate.sequences)}")
        lines += [f"target {name}: {what}" for name, what in self.adapt.new_targets.items()]
        lines += [f"target {name} {wait_text(wait)}" for name, wait in self.integrate.waiting.items()]
        lines += [f"discarded: {n} x {why}" for why, n in self.discarded.items()]
        lines += [f"conflicts: {n} x {what}" for what, n in self.conflicts.items()]
        lines += [f"left out: {table}: {why}" for table, why in self.capture.left_out.items()]
        return as_lines(lines + [f"warning: {w}" for w in self.warnings])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what a person should know of what the stages have done, each once."""
        return tuple(dict.fromkeys((*self.adapt.warnings, *self.refresh.warnings, *self.integrate.warnings)))

    @property
    def conflicts(self) -> Counter[str]:
        """Return how many changes found another row than they were made to, by table and what became of them."""
        return Counter(self.adapt.conflicts) + Counter(self.integrate.conflicts)

    @property
    def discarded(self) -> Counter[str]:
        """Return how many changes the channel, or a target, does not take, by table and reason."""
        return Counter(self.capture.discarded) + Counter(self.adapt.discarded) + Counter(self.integrate.discarded)


@dataclass(frozen=True)
class Activated(Printable):
    """This is what activation prepared: tables enrolled, tables refreshed, tables left out and why.

    contradicted: what the log does not show of the shapes of today, by table; these were enrolled as inspected.
    reread: segments of the trail that were captured once more. changes_since: schema changes after the moment at which
    capture began again, in log order. gap: as in Captured.
    """

    position: Position
    tables: tuple[str, ...] = ()
    refreshed: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    contradicted: dict[str, list[str]] = field(default_factory=dict)
    reread: int = 0
    changes_since: tuple[str, ...] = ()
    gap: str = ""
