"""What waits for a person is one list: controls, refused changes, suspended tables, error queues, and approvals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.flow.health.facts import Facts
from airflow_ddlrepl.flow.health.failures import each_failure, is_a
from airflow_ddlrepl.flow.health.remedies import Remedies
from airflow_ddlrepl.flow.health.verdict import NOTHING_TO_DO, Remedy, moment_text
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.repository.stored.health_rows import QueuedRow

MOST_ROWS = 5
"""So many rows of an error queue are in the list; the page of a table has more of them."""

DISCARDED = "discarded rows"


@dataclass(frozen=True)
class Waiting:
    """Something waits for a person.

    kind: control, refused change, suspended table, error queue, discarded rows, disabled client, left out table,
    source. target: "" where it is about the source or the channel. since: when it began to wait; None: not known.
    rows: the first ones in the error queue, as `queued_json` returns them.
    """

    kind: str
    what: str
    why: str
    target: str = ""
    table: str = ""
    since: datetime | None = None
    remedy: Remedy = NOTHING_TO_DO
    number: int | None = None
    rows: tuple[dict[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**asdict(self), "since": moment_text(self.since)}


def waiting_list(facts: Facts) -> list[Waiting]:
    """Return what waits for a person, what stops a whole target first."""
    of_targets = (*_controls(facts), *_refused(facts), *_suspended(facts), *_error_queues(facts))
    return [*of_targets, *_at_the_source(facts), *_discarded(facts)]


def stops_a_target(item: Waiting) -> bool:
    """Does it keep a target from following its source? Rows that are discarded do not: others go on."""
    return item.kind != DISCARDED


def queued_json(row: QueuedRow) -> dict[str, Any]:
    """Return a row in an error queue as JSON: its key and its error, position, since when, and when it was seen."""
    return {"target": row.target, "table": row.table, **row.content, "found": moment_text(row.found)}


def _controls(facts: Facts) -> Iterator[Waiting]:
    remedies = Remedies(facts.channel, facts.file)
    for one in facts.controls:
        what = f"target {one.target} waits at {Position(one.key.lsn)} before a schema change"
        remedy = remedies.remove_control(one.id)
        yield Waiting("control", what, f"{one.reason} ({one.policy})", one.target, "", one.created, remedy, one.id)


def _refused(facts: Facts) -> Iterator[Waiting]:
    """Yield changes that a target refuses as a whole. A control is listed by itself."""
    for end in facts.failures:
        for failure in each_failure(end.failure):
            if is_a(failure, CannotAdapt):
                what = f"a change of {failure['table']} is refused" if failure["table"] else "a change is refused"
                why, remedy = f"{failure['code']}: {failure['message']}", Remedy(failure["hint"])
                since, target = end.failing_since, failure["target"] or ""
                yield Waiting("refused change", what, why, target, failure["table"] or "", since, remedy)


def _suspended(facts: Facts) -> Iterator[Waiting]:
    remedies = Remedies(facts.channel, facts.file)
    for target, found in facts.content.get("targets", {}).items():
        for table in found["tables"]:
            if table["state"] == TableStatus.SUSPENDED:
                name = table["table"]
                since = f" since {table['since']}" if table["since"] else ""
                what, remedy = f"{name} is suspended{since}, the others go on", remedies.retry([name], _hint(table))
                yield Waiting("suspended table", what, table["why"], target, name, None, remedy)


def _hint(table: dict[str, Any]) -> str:
    hint: str = table.get("hint") or ""
    return hint.rstrip(".")


def _error_queues(facts: Facts) -> Iterator[Waiting]:
    remedies = Remedies(facts.channel, facts.file)
    for one in facts.content.get("apply", ()):
        if one["waiting"]:
            what = f"{one['waiting']} transactions wait in the error queue of {one['client']}"
            why = "it is disabled until they are gone" if one["is_disabled"] else "later transactions go on"
            rows = tuple(queued_json(row) for row in facts.queued if row.target == one["target"])[:MOST_ROWS]
            yield Waiting("error queue", what, why, one["target"], remedy=remedies.retry_errors(), rows=rows)
        for text in one["suspended"]:
            yield Waiting("suspended table", text, "it gets no changes any more", one["target"], remedy=remedies.look())
    for text in facts.content.get("disabled", ()):
        yield Waiting("disabled client", text, "it goes on when what it names is changed", remedy=remedies.errors())


def _discarded(facts: Facts) -> Iterator[Waiting]:
    """Yield the tables of which a target does not take rows: they wait in a queue there."""
    remedy = Remedies(facts.channel, facts.file).errors("correct each row at the source: the next cycle brings it")
    first: dict[tuple[str, str], list[QueuedRow]] = {}
    for row in facts.queued:
        first.setdefault((row.target, row.table), []).append(row)
    for target, found in facts.content.get("targets", {}).items():
        for table in found["tables"]:
            if number := table["discarded"]:
                name = table["table"]
                rows = tuple(queued_json(row) for row in first.get((target, name), ())[:MOST_ROWS])
                are = f"{number} rows of {name} are" if number > 1 else f"1 row of {name} is"
                what = f"{are} discarded at target {target}"
                yield Waiting(DISCARDED, what, "other rows go on", target, name, None, remedy, rows=rows)


def _at_the_source(facts: Facts) -> Iterator[Waiting]:
    remedies = Remedies(facts.channel, facts.file)
    for one in facts.content.get("left_out", ()):
        if one.get("is_lost") or one.get("is_undecodable"):
            what = f"rows of {one['table']} do not reach the targets"
            yield Waiting("left out table", what, one["why"], table=one["table"], remedy=remedies.look())
    setup = facts.content.get("setup", {})
    for problem in setup.get("problems", ()):
        what, _, fix = problem.partition("; ")
        yield Waiting("source", what, "", remedy=Remedy(fix))
    for name in setup.get("unpublished", ()):
        remedy = remedies.activate("the channel file names it since activation")
        yield Waiting("left out table", f"rows of {name} are in no log yet", "", table=name, remedy=remedy)
    for one in setup.get("held", ()):
        if one["problem"]:
            yield Waiting("source", one["problem"], "", remedy=Remedy(one["fix"]))
    for limit in setup.get("limits", ()):
        yield Waiting("source", f"a limit is near: {limit}", "", remedy=remedies.look())
