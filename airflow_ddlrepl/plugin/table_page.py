"""What the page of one table shows: how it is at each target, and its revisions as a timeline, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.flow.health.tables import trouble


def table_page(health: Mapping[str, Any], history: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page's template needs."""
    number = history["table_id"]
    here = [one for one in health["tables"] if one["table_id"] == number]
    name = history["table"] or (here[0]["table"] if here else f"table {number}")
    names = {row["table"] for row in here}
    of_it = [one for one in health["waiting"] if one["table"] and one["table"] in names]
    waiting = [{**one, "rows": ()} for one in of_it]  # the page has all rows of the table in a part of its own
    return {
        "name": name,
        "channel": health["channel"],
        "history": history,
        "revisions": list(reversed(history["revisions"])),
        "tables": here,
        "waiting": waiting,
        "trouble": trouble,
        "file": health.get("file", "CHANNEL.yaml"),
    }
