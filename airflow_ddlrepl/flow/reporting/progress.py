"""What a stage has brought is told from its result: positions, rows, schema changes, and how far targets are behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.admin.status import Status
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.stages import APPLY, CAPTURE, INTEGRATE, REPLICATE, Cycle, names_of
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.stored.health_rows import LagRow, Outcome, StageEnd
from airflow_ddlrepl.repository.stored.rows import RunStatus

LAST = names_of(Cycle.ENDS, Cycle.WHOLE)
"""A cycle ends with one of these stages: then its row of the lag is stored, and one of each stage that fails."""
_MORE = (
    "ddl",
    "revisions",
    "drift",
    "left_out",
    "joined_or_left",
    "lost",
    "gap",
    "changes",
    "refreshes",
    "new_targets",
)
_MORE_OF_LOADS = ("tables", "loaded", "discarded", "conflicts", "errors", "waiting")


def progress_of(run: RunContext, end: StageEnd, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return where a stage has brought the channel, and at which moment; empty: it has moved nothing.

    captured, with where the source's log ends at the same moment and the bytes between; positions: of targets.
    """
    captured, positions = _moved(end.stage, result)
    if captured is None and not positions:
        return {}
    found = {"captured": captured, "positions": positions, "at": end.ended.isoformat()}
    return {**found, **_log_end(run, captured)} if captured is not None else found


def _log_end(run: RunContext, captured: str) -> dict[str, Any]:
    """Return where the source's log ends now, never before what is captured; empty: it does not answer any more."""
    low = Position.parse(captured)
    try:
        high = max(low, Position(run.source.log_end()))
    except DdlReplError as error:
        log.warning("the source: where its log ends is not known: %s", error)
        return {}
    return {"source": str(high), "lag_bytes": run.positions.distance(low, high)}


def _moved(stage: str, result: Mapping[str, Any]) -> tuple[str | None, dict[str, str]]:
    """Return up to where a stage has captured, None: nothing; and where it has brought targets."""
    captured = next((part["high"] for part in _parts(stage, result, CAPTURE.name) if part.get("high")), None)
    positions: dict[str, str] = {}
    for part in _parts(stage, result, INTEGRATE.name):
        positions |= part.get("positions", {})
    for part in _parts(stage, result, APPLY.name) if stage == REPLICATE.name else []:
        if not part.get("waiting"):  # a whole cycle has brought what was captured to each target
            positions |= dict.fromkeys((name.partition(":")[0] for name in part.get("positions", ())), captured)
    return None if captured is None else str(captured), {name: str(at) for name, at in positions.items()}


def brings_more_than_rows(result: Mapping[str, Any]) -> bool:
    """Has the stage done something that the state of tables tells: schema changes, loads, rows that are discarded?"""
    parts = [result, *(part for part in result.values() if isinstance(part, Mapping))]
    if any(part.get(name) for part in parts for name in _MORE if not (name == "changes" and "transactions" in part)):
        return True
    return any(part.get(name) for part in parts for name in _MORE_OF_LOADS)


def lag_after(run: RunContext, end: StageEnd, found: Status | None) -> list[LagRow]:
    """Return how far each target is behind after a cycle, or after a stage that failed.

    found: the status of now; None: none was taken, so a target that has everything captured is at most as late as the
    cycle is old.
    """
    if end.stage not in LAST and end.outcome is not Outcome.FAILED:
        return []
    if found is None and end.outcome is not Outcome.DONE:
        return []  # an idle one has a row when somebody asks for the status
    done = {row.stage: row for row in run.repository.runs(run.channel.name, run.run_id, limit=20)}
    ended = {name: row for name, row in done.items() if row.ended is not None and row.status is RunStatus.DONE}
    seconds = {
        name: round((row.ended - row.started).total_seconds(), 3)
        for name, row in ended.items()
        if row.ended is not None
    }
    captured = ended[CAPTURE.name].result or {} if CAPTURE.name in ended else {}
    rows, changes = int(captured.get("rows", 0)), sum(dict(captured.get("ddl", {})).values())
    return [LagRow(name, end.ended, lag, size, rows, changes, seconds) for name, lag, size in _lags(run, end, found)]


def _lags(run: RunContext, end: StageEnd, found: Status | None) -> Iterator[tuple[str, float | None, int | None]]:
    if found is not None:
        for name, known in found.targets.items():
            yield name, known["lag_seconds"], known["lag_bytes"]
        for one in found.apply:
            yield one["target"], one.get("lag_seconds"), one.get("lag_bytes")
        return
    captured = str(run.captured())
    began = (end.ended - end.began).total_seconds()
    for target in run.channel.destinations:
        has_all = end.progress.get("positions", {}).get(target.name) == captured
        yield target.name, round(began, 1) if has_all else None, 0 if has_all else None


def _parts(stage: str, result: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return what a part of a cycle did: the result is that part's own, or the whole cycle's."""
    own = result if stage == name else result.get(name)
    return [own] if isinstance(own, Mapping) else []
