"""Write what a person reads before an approval, as Markdown: what will be lost, what will be done, where to look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.operators.messages.markdown import block, bold, code, dag_id, link, plain, table

if TYPE_CHECKING:
    from airflow_ddlrepl.flow.admin.controls import HeldControl

MOST_TABLES = 100
MOST_STATEMENTS = 50
"""A page with more can't be read; all of them stand in the task's log."""


def rewind_text(channel: str, plan: Mapping[str, Any], run_id: str) -> str:
    """Return the text about a rewind. plan: as RewindPlanned.to_json returns it."""
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
        replaced = _names([one["table"] for one in plan["tables"]])
        yield f"{bold('Replaced at target')} {code(live)}, with what somebody else wrote there: {replaced}"


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
    """Yield the reason why a table's rows can't be known, and each statement between now and the moment."""
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


_LOST = (
    (
        True,
        f"{bold('What the changes below take from the target')}: values of dropped columns and attributes are lost, a"
        " narrower type may round, cut or refuse values; of a dropped table the reason says whether the target's goes,"
        " too. A table is loaded again where its change needs that.",
    ),
    (
        False,
        f"{bold('Rows that are at the target already may differ from the source')}: the next run changes the target's"
        " tables, and loads one again only where it can't be altered with its rows.",
    ),
)


def controls_text(channel: str, controls: Sequence[HeldControl]) -> str:
    """Return the text about controls: which hold, the changes behind them, and what their removal means."""
    rows = [
        (
            str(one.control.id),
            code(one.control.target),
            code(one.to_json()["at"]),
            one.control.created.isoformat(sep=" ", timespec="minutes"),
            plain(one.control.reason),
            plain(one.control.policy),
        )
        for one in controls
    ]
    parts = [
        "### What will be lost",
        *(text for is_asked, text in _LOST if any(one.is_asked is is_asked for one in controls)),
        "### Which targets wait",
        table(("Control", "Target", "At", "Since", "Reason", "Policy"), rows),
        *(part for one in controls for part in _behind(one)),
        "### What to look at",
        f"The next of the {link(f'runs of {channel}', 'dags', dag_id(channel, 'replicate'), 'runs')} goes on."
        f" `ddlrepl plan FILE` shows the SQL, `ddlrepl refresh FILE --table TABLE` loads a table again.",
    ]
    return "\n\n".join(parts) + "\n"


def _behind(control: HeldControl) -> Iterator[str]:
    """Yield the changes behind a control: the table and the statement of each."""
    for change in control.changes[:MOST_STATEMENTS]:
        where = f"Control {control.control.id}: revision {change.revision} of {code(change.table)}"
        yield f"{where}: {'; '.join(map(code, change.changes)) or 'no change of its shape'}"
        if change.statement:
            yield block(change.statement, "sql")
    if len(control.changes) > MOST_STATEMENTS:
        yield _rest(control.changes, MOST_STATEMENTS).strip()


def differences_text(channel: str, found: Mapping[str, Any], run_id: str) -> str:
    """Return the text about a comparison and its repair. found: as Comparison.to_json returns it."""
    unlike = [one for one in found["tables"] if one["differences"]]
    mended, waiting = ([one for one in unlike if one["waits"] is waits] for waits in (False, True))
    rows = [
        (
            code(one["table"]),
            code(one["target"]),
            *(f"{'at least ' if one['is_partial'] else ''}{one[kind]:,}" for kind in ("missing", "extra", "different")),
            str(len(one["structure"])),
        )
        for one in unlike[:MOST_TABLES]
    ]
    log = link("log of the task compare", "dags", dag_id(channel, "compare"), "runs", run_id, "tasks", "compare")
    parts = ["### What will be lost", _overwritten(mended), "### What differs"]
    parts.append(
        table(("Table", "At the target", "Missing", "Extra", "Different", "Shape"), rows) if rows else "Nothing."
    )
    parts += [_rest(unlike, MOST_TABLES).strip()] if len(unlike) > MOST_TABLES else []
    if lines := found["found"]:
        parts += [block("\n".join(" ".join(line.split()) for line in lines[:MOST_STATEMENTS]))]
        parts += [_rest(lines, MOST_STATEMENTS).strip()] if len(lines) > MOST_STATEMENTS else []
    if waiting:
        parts.append(f"{bold('Not repaired, the next run brings them')}: {_names([one['table'] for one in waiting])}")
    if left := found["left_out"]:
        parts.append(f"{bold('Not compared')}: {_names(list(left))}")
    if open_ := found.get("undecided"):
        parts.append(f"{bold('Nobody can tell yet')}: {_names(list(open_))}")
    if flying := found.get("in_flight"):
        parts.append(
            f"{bold('Not at the targets yet')}: {flying:,} rows or changes of a shape; they are no differences"
        )
    holds = f" It holds for {code(found['position'])} of the source's log." if found.get("position") else ""
    parts += ["### What to look at", f"The {log}.{holds}"]
    return "\n\n".join(parts) + "\n"


def _overwritten(mended: Sequence[Mapping[str, Any]]) -> str:
    if not mended:
        return "Nothing: no table will be repaired."
    extra, different = (sum(one[kind] for one in mended) for kind in ("extra", "different"))
    names = _names([one["target"] for one in mended])
    return f"**Rows deleted at the targets: {extra:,}, overwritten: {different:,}**, in {names}"


def plan_text(channel: str, plan: Mapping[str, Any], run_id: str) -> str:
    """Return the text about the next cycle. plan: as Planned.to_json returns it."""
    log = link("log of the task plan", "dags", dag_id(channel, "plan"), "runs", run_id, "tasks", "plan")
    head = f"From {code(plan['from'])} to {code(plan['to'])} of the source's log."
    parts = ["### What will be lost", _hazards(plan["targets"]), "### What will be done", head]
    for target, plans in plan["targets"].items():
        parts += _planned(target, plans)
        parts += _suspended(plan["suspended"].get(target, ()))
    return "\n\n".join([*parts, "### What to look at", f"The {log}."]) + "\n"


def _hazards(targets: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    found = [(target, one, hazard) for target, plans in targets.items() for one in plans for hazard in one["hazards"]]
    lines = [f"- {code(one['target'])} at {code(target)}: {bold(hazard)}" for target, one, hazard in found]
    more = [f"- … and {len(lines) - MOST_TABLES} more"] if len(lines) > MOST_TABLES else []
    return "\n".join(lines[:MOST_TABLES] + more) or "Nothing that the plans know of."


def _planned(target: str, plans: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not plans:
        yield f"Target {code(target)}: no schema change."
        return
    yield f"Target {code(target)}:"
    rows = [
        (
            code(one["table"]),
            code(one["target"]),
            "; ".join(map(plain, one["changes"])),
            "; ".join(map(plain, one["policies"])),
            f"about {one['rows_to_move']:,} rows" if one["needs_refresh"] else "no",
        )
        for one in plans[:MOST_TABLES]
    ]
    yield table(("Table", "At the target", "Changes", "Policies", "Loaded again"), rows) + _rest(plans, MOST_TABLES)
    steps = [(one["target"], step) for one in plans for step in one["steps"]]
    for name, step in steps[:MOST_STATEMENTS]:
        if step["sql"]:
            yield f"{code(name)}: {plain(step['why'])}"
            yield block(";\n".join(step["sql"]) + ";", "sql")
        else:
            yield f"{code(name)}: {bold(step['kind'])}: {plain(step['why'])}"
    if len(steps) > MOST_STATEMENTS:
        yield _rest(steps, MOST_STATEMENTS).strip()


def _suspended(tables: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a table of the suspended tables, which the cycle tries to catch up before anything else."""
    if tables:
        rows = [(code(one["table"]), code(one["since"]), plain(one["why"]), plain(one["hint"])) for one in tables]
        yield f"{bold('Suspended')}, and tried again by the cycle:"
        yield table(("Table", "Since", "Reason", "What helps"), rows[:MOST_TABLES]) + _rest(tables, MOST_TABLES)


def _rest(all_of_them: Sequence[object], shown: int) -> str:
    more = len(all_of_them) - shown
    return f"\n\n… and {more} more: see the log of the task before this one." if more > 0 else ""
