"""Rows of source and targets are equal before applications switch; else somebody has to know of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from airflow_ddlrepl.compare.report import TableReport
from airflow_ddlrepl.flow.capture.left_out import not_in_the_log
from airflow_ddlrepl.flow.comparing.compare import compare
from airflow_ddlrepl.flow.cutover.condition import Code, Condition
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.table_state import TableStatus

KINDS = ("differences", "discarded", "in_flight", "undecided")
FLYING = "what is on its way to a target, and is no difference"
NEVER = "nobody has compared all tables of this channel yet"


def known_differences(run: RunContext) -> Condition:
    """Return what the last comparison of all tables found, and when it was."""
    last = run.repository.last_comparison(run.channel.name)
    hint = "--compare compares now, as `ddlrepl compare CHANNEL.yaml` does; with --repair it writes what differs"
    if last is None:
        return Condition(Code.DIFFERENCES, None, "differences", (NEVER,), hint)
    when = last.started.isoformat(sep=" ", timespec="seconds")
    counts = _counts(run, last.result or {})
    told = (
        f"{counts['differences']}" if counts["differences"] else "",
        f"{counts['discarded']} discarded rows" if counts["discarded"] else "",
        f"tables of which nobody could say whether they differ: {counts['undecided']}" if counts["undecided"] else "",
    )
    found = tuple(f"{one} when last compared, {when}" for one in told if one)
    what = f"differences, when last compared, {when}"
    if counts["in_flight"]:
        what += f", but for {counts['in_flight']} rows and columns that were on their way and could not be compared"
    return Condition(Code.DIFFERENCES, None, what, found, hint)


def _counts(run: RunContext, last: Mapping[str, Any]) -> Counter[str]:
    """Return how much differs, by kind, as the newest comparison of each table found. last: that of all tables.

    Sequences have a condition of their own.
    """
    if "by_table" not in last:  # of an older version of this package
        return Counter({kind: last.get(kind, 0) for kind in KINDS})
    tables = run.repository.compared_tables(run.channel.name).values()
    found = Counter[str]()
    for one in tables:
        found.update({kind: 1 if kind == "undecided" else one[kind] for kind in KINDS if one.get(kind)})
    return found


def compared(run: RunContext) -> Iterator[Condition]:
    """Compare all tables now, and look for rows that break the foreign keys of a target.

    What is in flight is no difference; a table of which nobody can say which rows differ is named as if it did.
    """
    whole = {one.name for one in not_in_the_log(run) if one.is_reloaded}
    tables = compare(run).tables
    loaded = [one for one in tables if one.table in whole and not one.structure and _differs(one)]
    differing = _named(run, ((one, _shown(one)) for one in tables if _differs(one) and one not in loaded))
    hint = "`ddlrepl compare CHANNEL.yaml` shows the rows, --repair writes them"
    yield Condition(Code.DIFFERENCES, None, "tables that differ, or of which nobody can say it", differing, hint)
    flying = [(one, _in_flight(one)) for one in tables if one.in_flight or one.on_their_way]
    flying += [(one, f"{_shown(one)}, until it is loaded again") for one in loaded]
    hint = "the cut-over brings it, and compares once more; before it, `ddlrepl replicate` does"
    yield Condition(Code.IN_FLIGHT, None, FLYING, _named(run, flying), hint)
    hint = "find the rows that refer to nothing: the target did not check the key while they were written"
    for target in run.channel.targets:
        place = run.target(target.name)
        names = [one.name for one in place.state().table_states.values() if one.state is TableStatus.LIVE]
        broken = tuple(f"{table}: foreign key {name}" for table, name in place.facts().broken_references(names))
        yield Condition(Code.REFERENCES, target.name, "foreign keys that rows break", broken, hint)


def _differs(one: TableReport) -> bool:
    """Does the target's table differ for good, or may it, for all that anybody can say?"""
    return bool(one.differences or one.discarded or one.undecided)


def _shown(one: TableReport) -> str:
    least = "at least " if one.is_partial else ""
    counts = {"missing": one.missing, "extra": one.extra, "different": one.different}
    parts = [*(f"{least}{n} {kind}" for kind, n in counts.items() if n), *one.structure]
    parts += [f"{one.discarded} discarded"] if one.discarded else []
    parts += [f"can't tell which rows differ: {one.undecided}"] if one.undecided else []
    return f"{one.target}: {', '.join(parts)}"


def _in_flight(one: TableReport) -> str:
    rows = [f"{one.in_flight} rows"] if one.in_flight else []
    return f"{one.target}: {', '.join([*rows, *one.on_their_way])}"


def _named(run: RunContext, found: Iterable[tuple[TableReport, str]]) -> tuple[str, ...]:
    """Return the texts about tables, with the target where the channel has several."""
    has_several = len(run.channel.targets) > 1
    return tuple(f"target {one.at}: {text}" if has_several else text for one, text in found)
