"""What a person reads before an approval, as Markdown: what will be done, what will be lost, what to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.operators.markdown import block, bold, code, dag_id, link, plain, table

if TYPE_CHECKING:
    from airflow_ddlrepl.flow.controls import HeldControl

MOST_TABLES = 100
MOST_STATEMENTS = 50
"""A page with more can't be read; all of them stand in the task's log."""


def rewind_text(channel: str, plan: Mapping[str, Any], run_id: str) -> str:
    """Return what a rewind will do. plan: as RewindPlanned.to_json has it."""
    into, live, tables = plan["target"], plan["live"], plan["tables"]
    head = table(
        ("Built in", "From", "To", "Read of the trail"),
        [(code(into), code(plan["from"]), code(plan["to"]), f"{plan['segments']} segments, {plan['bytes']:,} bytes")],
    )
    log = link("log of the task plan", "dags", dag_id(channel, "rewind"), "runs", run_id, "tasks", "plan")
    runs = link(f"runs of {channel}", "dags", dag_id(channel, "replicate"), "runs")
    parts = ["### What will be lost", *_lost(plan), "### What will be done", head]
    if live:
        parts.append(f"Then these tables take the places of those at target {code(live)}.")
    if plan["stopped"]:
        parts.append(f"{bold('The rewind stops')} {plain(plan['stopped'])}")
    parts += [_tables(tables), *_changes(tables), "### What to look at", f"The {log}; the {runs}."]
    return "\n\n".join(parts) + "\n"


def _lost(plan: Mapping[str, Any]) -> Iterator[str]:
    into, live = plan["target"], plan["live"]
    if removed := plan["removed"]:
        yield f"{bold('Removed first at')} {code(into)}: {_names(removed)}"
    else:
        yield f"Nothing has to be removed at {code(into)}."
    if live:
        those = _names([one["table"] for one in plan["tables"]])
        yield f"{bold('Replaced at target')} {code(live)}, with what somebody else wrote there: {those}"


def _names(names: Sequence[str]) -> str:
    more = len(names) - MOST_TABLES
    return ", ".join(map(code, names[:MOST_TABLES])) + (f" and {more} more" if more > 0 else "")


def _tables(tables: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (
            code(one["table"]),
            bold(one["verdict"]) if one["reason"] else plain(one["verdict"]),
            "none" if one["rows"] is None else f"{one['rows']:,} at {code(one['loaded_at'])}",
            str(len(one["changes"])),
        )
        for one in tables[:MOST_TABLES]
    ]
    return table(("Table", "Verdict", "Rows loaded", "Schema changes on the way"), rows) + _rest(tables, MOST_TABLES)


def _changes(tables: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Why a table's rows can't be known, and each statement on the way."""
    for one in tables[:MOST_TABLES]:
        if one["reason"]:
            yield f"{code(one['table'])}: {bold(one['reason'])}"
    changes = [(one["table"], change) for one in tables for change in one["changes"]]
    for name, change in changes[:MOST_STATEMENTS]:
        at, _, statement = change.partition(" ")
        yield f"{code(name)} at {code(at)}:"
        yield block(statement, "sql")
    if len(changes) > MOST_STATEMENTS:
        yield _rest(changes, MOST_STATEMENTS).strip()


def controls_text(channel: str, held: Sequence[HeldControl]) -> str:
    """Return which controls hold, what stands behind them, and what their removal means."""
    rows = [
        (
            str(one.control.id),
            code(one.control.target),
            code(one.to_json()["at"]),
            one.control.created.isoformat(sep=" ", timespec="minutes"),
            plain(one.control.reason),
            plain(one.control.policy),
        )
        for one in held
    ]
    parts = [
        "### What will be lost",
        f"{bold('Rows that are at the target already may differ from the source')}: the next run changes the target's"
        " tables and does not load them again.",
        "### Which targets wait",
        table(("Control", "Target", "At", "Since", "Reason", "Policy"), rows),
        *(part for one in held for part in _behind(one)),
        "### What to look at",
        f"The next of the {link(f'runs of {channel}', 'dags', dag_id(channel, 'replicate'), 'runs')} goes on."
        f" `ddlrepl plan FILE` shows the SQL, `ddlrepl refresh FILE --table TABLE` loads a table again.",
    ]
    return "\n\n".join(parts) + "\n"


def _behind(held: HeldControl) -> Iterator[str]:
    """The changes behind a control, a table and the statement each."""
    for change in held.changes[:MOST_STATEMENTS]:
        where = f"Control {held.control.id}: revision {change.revision} of {code(change.table)}"
        yield f"{where}: {'; '.join(map(code, change.changes)) or 'no change of its shape'}"
        if change.statement:
            yield block(change.statement, "sql")
    if len(held.changes) > MOST_STATEMENTS:
        yield _rest(held.changes, MOST_STATEMENTS).strip()


def _rest(all_of_them: Sequence[object], shown: int) -> str:
    more = len(all_of_them) - shown
    return f"\n\n… and {more} more: see the log of the task before this one." if more > 0 else ""
