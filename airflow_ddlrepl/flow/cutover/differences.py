"""Rows of source and targets are equal before applications switch; else somebody has to know of it."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.compare.report import TableReport
from airflow_ddlrepl.flow.comparing.compare import compare
from airflow_ddlrepl.flow.cutover.condition import Code, Condition
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.table_state import TableStatus

NEVER = "nobody has compared all tables of this channel yet"


def known_differences(run: RunContext) -> Condition:
    """Return what the last comparison of all tables found, and when it was."""
    last = run.repository.last_comparison(run.channel.name)
    hint = "--compare compares now, as `ddlrepl compare CHANNEL.yaml` does; with --repair it writes what differs"
    if last is None:
        return Condition(Code.DIFFERENCES, None, "differences", (NEVER,), hint)
    when = last.started.isoformat(sep=" ", timespec="seconds")
    count, discarded, undecided = (
        (last.result or {}).get(name, 0) for name in ("differences", "discarded", "undecided")
    )
    told = (
        f"{count}" if count else "",
        f"{discarded} discarded rows" if discarded else "",
        f"tables of which nobody could say whether they differ: {undecided}" if undecided else "",
    )
    found = tuple(f"{one} when last compared, {when}" for one in told if one)
    return Condition(Code.DIFFERENCES, None, f"differences, when last compared, {when}", found, hint)


def compared(run: RunContext) -> Iterator[Condition]:
    """Compare all tables now, and look for rows that break the foreign keys of a target."""
    differing = tuple(_shown(one) for one in compare(run).tables if _differs(one))
    hint = "`ddlrepl compare CHANNEL.yaml` shows the rows, --repair writes them; what is not there yet differs, too"
    yield Condition(Code.DIFFERENCES, None, "tables that differ", differing, hint)
    hint = "find the rows that refer to nothing: the target did not check the key while they were written"
    for target in run.channel.targets:
        place = run.target(target.name)
        names = [one.name for one in place.state().table_states.values() if one.state is TableStatus.LIVE]
        broken = tuple(f"{table}: foreign key {name}" for table, name in place.facts().broken_references(names))
        yield Condition(Code.REFERENCES, target.name, "foreign keys that rows break", broken, hint)


def _differs(one: TableReport) -> bool:
    """Does the target's table differ, for good or until the log is applied?"""
    return bool(one.differences or one.discarded) or not one.is_settled


def _shown(one: TableReport) -> str:
    least = "at least " if one.is_partial else ""
    counts = {"missing": one.missing, "extra": one.extra, "different": one.different}
    parts = [*(f"{least}{n} {kind}" for kind, n in counts.items() if n), *one.structure]
    parts += [f"{one.discarded} discarded"] if one.discarded else []
    parts += [f"{one.in_flight} not there yet"] if one.in_flight else []
    parts += [*one.on_their_way, *([one.undecided] if one.undecided else [])]
    return f"{one.target}: {', '.join(parts)}"
