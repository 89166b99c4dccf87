"""The source holds log that is captured for as long as `hold_log` says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow_ddlrepl.engines.abilities.of_source import RetainsLog
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.flow.run.clock import is_clock_right
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.position import Position


def hold(run: RunContext) -> None:
    """Let the source discard captured log that is too old, or too much, for `hold_log`. Only for the channel's holder.

    Raises SourceError SRC-111 or SRC-118 when the source can't hold it.
    """
    wanted = run.channel.hold_log
    if wanted is None or (wanted.age is not None and not is_clock_right(run)):
        return
    captured = run.repository.captured(run.channel.name) or Position(0)
    since = None if wanted.age is None else datetime.now(UTC) - timedelta(seconds=wanted.age)
    low = Position(0) if wanted.size is None else run.positions.limit(captured, -wanted.size)
    begin = run.repository.first_segment_since(run.channel.name, since, low)
    run.check_lock()
    able(run.source, RetainsLog).retained_log.hold(captured if begin is None else begin)
