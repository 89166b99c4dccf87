"""What the page of one channel shows: verdicts, what waits, where data goes, charts, and a piece of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from airflow_ddlrepl.flow.health.tables import trouble
from airflow_ddlrepl.flow.stages import Cycle, names_of
from airflow_ddlrepl.plugin.channel_graph import channel_graph
from airflow_ddlrepl.plugin.drawing.charts import BYTES, NUMBER, SECONDS, Chart, Points, bar_chart, line_chart
from airflow_ddlrepl.plugin.drawing.picture import picture, ways
from airflow_ddlrepl.plugin.drawing.words import moment
from airflow_ddlrepl.plugin.table_list import LONGEST, PageQuery, TableList, table_list

Row = Mapping[str, Any]
SPANS = (("2 hours", 2), ("2 days", 48), ("30 days", LONGEST))
WHOLE = names_of(Cycle.WHOLE, Cycle.BEFORE)


def channel_page(health: Row, query: PageQuery) -> dict[str, Any]:
    """Return what the page's template needs."""
    tables = table_list(health, query)
    graph = channel_graph(health) if health["source"] else None
    return {
        "health": health,
        "charts": charts(health["history"]),
        "spans": [(text, _address(query, hours=hours, place="charts"), hours == query.hours) for text, hours in SPANS],
        "picture": picture(graph) if graph is not None else None,
        "ways": ways(graph) if graph is not None else [],
        "tables": tables,
        "query": query,
        "trouble": trouble,
        "pages": _pages(tables, query),
    }


def charts(history: Sequence[Row]) -> list[Chart]:
    """Return the charts over time that there are values for: lag, rows and changes of a cycle, time of its stages."""
    first = {row["at"]: row for row in reversed(history)}  # what a cycle captured is in the row of each of its targets
    cycles = [first[at] for at in sorted(first)]
    stages = [one for one in dict.fromkeys(name for row in cycles for name in row["seconds"]) if one not in WHOLE]
    each = "an hour" if any(row["is_hour"] for row in cycles) else "a cycle"
    found = [
        line_chart("Behind the source, in time", _by_target(history, "lag_seconds"), SECONDS),
        line_chart("Behind the source, in log", _by_target(history, "lag_bytes"), BYTES),
        bar_chart(f"Rows in {each}", {"rows": _points(cycles, "rows")}, NUMBER),
        bar_chart(f"Schema changes in {each}", {"schema changes": _points(cycles, "schema_changes")}, NUMBER),
        bar_chart("Time of the stages of a cycle", {one: _of_stage(cycles, one) for one in stages}, SECONDS),
    ]
    return [one for one in found if one is not None]


def _by_target(history: Sequence[Row], name: str) -> dict[str, Points]:
    targets = dict.fromkeys(row["target"] for row in history)
    return {target: _points([row for row in history if row["target"] == target], name) for target in targets}


def _points(rows: Sequence[Row], name: str) -> Points:
    return [(_seconds(row["at"]), row[name]) for row in rows]


def _of_stage(rows: Sequence[Row], stage: str) -> Points:
    return [(_seconds(row["at"]), row["seconds"].get(stage)) for row in rows]


def _seconds(at: Any) -> float:
    found = moment(at)
    return found.timestamp() if found is not None else 0.0


def _pages(tables: TableList, query: PageQuery) -> dict[str, Any]:
    """Return the addresses of the pieces of the list before and after this one, and what this one has."""
    before, after = query.offset - query.limit, query.offset + query.limit
    return {
        "first": query.offset + 1 if tables.rows else 0,
        "last": query.offset + len(tables.rows),
        "before": _address(query, offset=max(before, 0)) if query.offset else "",
        "after": _address(query, offset=after) if after < tables.total else "",
    }


def _address(query: PageQuery, place: str = "tables", **changed: int) -> str:
    """Return the address of the same page with something changed. place: on the page."""
    asked = {**query.model_dump(exclude_defaults=True), **changed}
    return f"?{urlencode(asked)}#{place}"
