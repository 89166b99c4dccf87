"""Explain what became of the DDL statements that lie in a channel's trail, by its Extract and Replicats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.cli.command import Side
from airflow_ddlrepl.cli.explain_ddl import Explained
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.goldengate.event_record import record_of
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import Outcome
from airflow_ddlrepl.goldengate.replicat import replicate_each
from airflow_ddlrepl.model.change import Event, EventKind, why_ignored
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.visible import as_lines


@dataclass(frozen=True, slots=True)
class TrailStatement:
    """A statement of the trail has its place in the log, and its evaluations by each target's Replicat.

    text: as Extract has written it; None: it is not known. why: it is not replicated at all; empty: it is.
    """

    at: Position
    tag: str
    text: str | None
    why: str
    targets: tuple[tuple[str, tuple[Explained, ...]], ...]

    def lines(self, *, whole: bool) -> Iterator[str]:
        """Yield the statement as lines for a person. whole: with every stage, else with the last verdicts."""
        yield f"{self.at} {' '.join((self.text or self.tag).split())}"
        if self.why:
            yield f"  {self.why}"
        for target, evaluations in self.targets:
            for one in evaluations:
                if whole:
                    yield f"  target {target}"
                    yield from (f"  {line}" for line in one.lines())
                else:
                    end = "discarded" if one.evaluation.outcome is Outcome.DISCARDED else one.evaluation.record.text
                    yield f"  target {target}: {' '.join(end.split())}: {one.evaluation.why}"


@dataclass(frozen=True, slots=True)
class TrailExplanation:
    """An explanation of a trail is its statements, in the order of the log. whole: each stage is shown."""

    statements: tuple[TrailStatement, ...]
    whole: bool

    def to_json(self) -> list[dict[str, Any]]:
        """Return the statements as JSON values."""
        return [
            {
                "at": str(one.at),
                "tag": one.tag,
                "statement": one.text,
                "why": one.why,
                "targets": {name: [found.to_json() for found in each] for name, each in one.targets},
            }
            for one in self.statements
        ]

    def text(self) -> str:
        """Return the statements as text for a person."""
        lines = [line for one in self.statements for line in one.lines(whole=self.whole)]
        return as_lines(lines) or "no statement is in the trail there"


def explain_trail(channel: Channel, events: Iterable[Event], at: Position | None) -> TrailExplanation:
    """Evaluate the DDL events of a trail by the channel's parameters. at: only those at this position."""
    replicats = [(target.name, target.replicat) for target in channel.targets if target.replicat is not None]
    found = [
        TrailStatement(
            Position(event.key.lsn),
            event.tag,
            event.statement,
            why_ignored(event),
            tuple((name, _by(event, of)) for name, of in replicats if not why_ignored(event)),
        )
        for event in sorted(events, key=lambda event: event.key)
        if event.kind is EventKind.DDL and not event.is_inspected and at in (None, event.key.lsn)
    ]
    return TrailExplanation(tuple(found), whole=at is not None)


def _by(event: Event, parameters: ReplicatParameters) -> tuple[Explained, ...]:
    found = replicate_each(record_of(event), parameters)
    return tuple(Explained(Side.REPLICAT, number, len(found), one) for number, one in enumerate(found, 1))
