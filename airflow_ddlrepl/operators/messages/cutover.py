"""Write what a person reads before a cut-over, as Markdown: what it does, what is missing, where to look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_ddlrepl.operators.messages.markdown import code, dag_id, link, plain, table

MOST_CONDITIONS = 100


def cutover_text(channel: str, found: Mapping[str, Any], accepted: Sequence[str], run_id: str) -> str:
    """Return the text about a cut-over. found: as CutOverCheck.to_json returns it."""
    rows = [
        (code(one["code"]), code(one["target"] or "source"), plain(one["what"]), code("; ".join(one["found"])[:500]))
        for one in found["conditions"]
        if not one["is_met"]
    ]
    log = link("log of the task check", "dags", dag_id(channel, "cutover"), "runs", run_id, "tasks", "check")
    parts = [
        "### What will be lost",
        "Nothing. After the cut-over no run of the channel writes at a target, and what is written at the source does"
        " not get there.",
        "### What will be done",
        "A last cycle, while nobody writes at the source; then the channel stops. `ddlrepl cutover FILE --undo` lets it"
        " go on.",
        "### What is not as it should be",
        table(("Code", "At", "What", "Found"), rows[:MOST_CONDITIONS]) if rows else "Nothing.",
        f"Accepted: {', '.join(map(code, accepted)) or 'nothing'}.",
        "### What to look at",
        f"The {log}. Stop the applications before you approve.",
    ]
    return "\n\n".join(parts) + "\n"
