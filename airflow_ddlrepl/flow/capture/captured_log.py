"""This module says which part of the source's log a run captures, as the channel file says, and writes it."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.capture.write_range import LogWriting
from airflow_ddlrepl.capture.write_window import write_window
from airflow_ddlrepl.config.sections.policies import CaptureFormat
from airflow_ddlrepl.engines import source_engine
from airflow_ddlrepl.engines.source import LogWindow
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.log import LogReading
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.trail.manifest import Part


def window_of(run: RunContext, low: Position, high: Position) -> LogWindow:
    """Return the part of the log to read, as the channel's file says."""
    known = run.repository.latest_revisions(run.channel.name).values()
    return LogWindow(
        low,
        high,
        [revision.table for revision in known if revision.table],
        run.log_identity,
        run.channel.capture.parallel or run.runner.parallelism,
        as_text=run.channel.capture.format is CaptureFormat.TEXT,
        ignored=run.channel.capture.ignore_sessions,
        is_for_queue=run.channel.clients.captures,
        limits=run.channel.limits,
    )


def writing_of(run: RunContext, low: Position, trail_url: str) -> LogWriting:
    """Return what is taken of a window that begins there, and where it is written, as the channel's file says."""
    channel = run.channel
    return LogWriting(
        trail_url,
        channel.name,
        run.epoch,
        run.token,
        low,
        no_truncate=channel.capture.no_truncate,
        extract=channel.source.extract,
        rules=StreamsClients(run).capture_rules(),
        values=source_engine(channel).values,
    )


def write_log(run: RunContext, window: LogWindow, writing: LogWriting, runner: Runner | None = None) -> list[Part]:
    """Write a window of the source's log, as `write_window` does. runner: of the tasks; None: the run's."""

    def read(is_whole: bool) -> LogReading:
        return run.source.read_log(replace(window, parallelism=1) if is_whole else window)

    return write_window(read, writing, runner or run.runner)
