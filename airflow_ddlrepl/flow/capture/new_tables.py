"""A table may come into the stream without an event trigger, or while other transactions write to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.position import Position


def warn_of_waiting(run: RunContext) -> None:
    """Log a warning for each table that waits to be published: its rows do not come until then."""
    for name in run.source.membership.unpublishable():
        log.warning(
            "%s is not published yet: another transaction is in the way (maybe a prepared one), or the source's role"
            " may not publish it. Its rows are left out until a later capture can publish and load it, or"
            " `ddlrepl activate` as the role that activated the channel does",
            name,
        )


def join(run: RunContext, drift: Sequence[Event]) -> dict[int, str]:
    """Publish tables that no event trigger brought in; return what became of each, by id."""
    known = run.repository.latest_revisions(run.channel.name)
    for event in drift:
        if event.layout is not None and (revision := known.get(int(event.layout["table_id"]))) and revision.table:
            at, why = Position(event.key.lsn), event.layout.get("why", "")
            log.warning("%s at %s: %s; its shape and rows of today are taken", revision.table.name, at, why)
            continue
        names = ", ".join(str(t.name) for t in event.tables) or ", ".join(str(n) for _, n in event.dropped)
        log.warning("no DDL record explains the shape of %s: inspected instead", names)
    return run.source.membership.maintain()


def settle_joined(
    run: RunContext, events: Sequence[Event], drift: Sequence[Event], outcomes: Mapping[int, str]
) -> None:
    """Wait until transactions have ended that wrote to tables while they were published: only then may a refresh begin.

    A table that is left out is refreshed once more when it is published.
    """
    joined = {i for event in drift for i in event.filled if outcomes.get(i) != "left out"}
    if joined or any(event.settings.get("shared") for event in events):
        run.source.membership.await_transactions()
