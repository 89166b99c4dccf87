"""A control says where a target waits for a person, and why; only what that person has seen is removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from airflow_ddlrepl.adapt.policy import ASKED
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.engines import source_types
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.ports.types import TypeSystem
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.rows import ControlRow
from airflow_ddlrepl.visible import visible

IDENTITY = ("id", "target", "at", "seq", "created")
STATEMENT_LENGTH = 500


@dataclass(frozen=True)
class HeldChange:
    """A held change is what happens to a table after a control, and by which statement of the source, if known."""

    table: str
    revision: int
    changes: tuple[str, ...]
    statement: str = ""

    def lines(self) -> list[str]:
        """Return the changes and the statement, one a line."""
        by = [f"by: {self.statement[:STATEMENT_LENGTH]}"] if self.statement else []
        return [*(f"{self.table} revision {self.revision}: {change}" for change in self.changes), *by]


@dataclass(frozen=True)
class HeldControl:
    """A held control stops a target now. changes: what happens after it, table by table."""

    control: ControlRow
    changes: tuple[HeldChange, ...]

    @property
    def is_asked(self) -> bool:
        """Does the channel's `ask_before` hold the target, and no policy that lets its rows differ afterwards?"""
        return self.control.policy.startswith(ASKED)

    def to_json(self) -> dict[str, Any]:
        """Return the control and its changes for XCom and --json."""
        return {**self.control.to_json(), "changes": self.lines()}

    def lines(self) -> list[str]:
        """Return the changes and statements, one a line."""
        return [line for change in self.changes for line in change.lines()]

    def text(self) -> str:
        """Return the control as text for people."""
        row = self.control
        since = row.created.isoformat(sep=" ", timespec="minutes")
        head = f"control {row.id}: target {row.target} waits at {Position(row.key.lsn)} since {since}"
        lines = [head, f"{row.reason} ({row.policy})", *self.lines()]
        return "\n  ".join(visible(" ".join(line.split())) for line in lines)


def held_controls(channel: Channel, control: int | None = None) -> list[HeldControl]:
    """Return the controls that stop a target, or the one that is asked for, in the order of the log.

    Raises ConfigError CTL-102 when there is no such control, CTL-103 when nothing waits, or not there any more.
    """
    with Repository.open(channel.repository) as repository:
        rows = repository.controls(channel.name, removed=True)
        histories = repository.histories(channel.name)
    chosen = [row for row in rows if control in (None, row.id)]
    holding = [row for row in chosen if row.removed is None]
    if control is not None and not chosen:
        message = f"channel {channel.name} has no control {control}"
        raise ConfigError(message, code="CTL-102", hint=_those(rows))
    if not holding:
        message = f"control {control} is removed already" if control else f"no target of channel {channel.name} waits"
        raise ConfigError(message, code="CTL-103", hint=_those(rows))
    types = source_types(channel)
    return [HeldControl(row, tuple(_changes(histories, row, types))) for row in holding]


def remove_seen(channel: Channel, seen: Sequence[Mapping[str, Any]], by: str = "") -> list[ControlRow]:
    """Remove the controls that a person has seen (as `HeldControl.to_json` returns them); one already gone is fine.

    by: that person, as far as known.

    Raises ConfigError CTL-104, with nothing removed, when one has changed since.
    """
    with Repository.open(channel.repository) as repository:
        now = {row.id: row.to_json() for row in repository.controls(channel.name, removed=True)}
        for one in seen:
            if any(now.get(one["id"], {}).get(key) != one[key] for key in IDENTITY):
                raise ConfigError(
                    f"control {one['id']} of channel {channel.name} is not the one that was shown",
                    code="CTL-104",
                    hint="nothing was removed: the channel was activated again in between. Look at its controls again",
                )
        return [repository.remove_control(channel.name, one["id"], by) for one in seen]


def _those(rows: Sequence[ControlRow]) -> str:
    holding = ", ".join(str(row.id) for row in rows if row.removed is None)
    return f"controls that stop a target: {holding}" if holding else "no control stops a target: the next run goes on"


def _changes(histories: Mapping[int, Sequence[Revision]], row: ControlRow, types: TypeSystem) -> Iterator[HeldChange]:
    """Yield the changes in the transaction before which the target waits."""
    for known in histories.values():
        for before, after in pairwise([None, *known]):
            if after is not None and after.key.lsn == row.key.lsn:
                yield _change(before, after, types)


def _change(before: Revision | None, after: Revision, types: TypeSystem) -> HeldChange:
    shapes = (before.table if before else None, after.table)
    name = next((shape.name for shape in shapes if shape), None)
    changes = tuple(redact(str(change)) for change in diff(*shapes, types))
    return HeldChange(str(name), after.number, changes, redact(after.statement or ""))
