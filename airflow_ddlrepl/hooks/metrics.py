"""Metrics of a channel go the way of Airflow's own: by StatsD or OpenTelemetry, as Airflow is configured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.flow.health.verdict import Level
from airflow_ddlrepl.flow.stages import ADAPT, INTEGRATE, REFRESH
from airflow_ddlrepl.model.table_state import TableStatus

PREFIX = "ddlrepl"


class Kind(StrEnum):
    """This value says whether a metric is a value of now, or counts what has happened."""

    GAUGE = "gauge"
    COUNTER = "counter"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric is a number that Airflow sends on. tags: what it is about, in the order of the parts of its name."""

    name: str
    kind: Kind
    tags: tuple[str, ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample is a value of a metric, and what it is about. tags: by their names."""

    metric: Metric
    value: float
    tags: Mapping[str, str]


LEVEL = Metric("level", Kind.GAUGE, ("channel",), "0 good, 1 unknown, 2 late, 3 waits for a person, 4 bad")
WAITING = Metric("waiting", Kind.GAUGE, ("channel",), "how much waits for a person")
CONTROLS = Metric("controls", Kind.GAUGE, ("channel",), "controls that stop a target")
LAG_SECONDS = Metric(
    "lag_seconds", Kind.GAUGE, ("channel", "target"), "age of the oldest commit that the target lacks; absent: unknown"
)
LAG_BYTES = Metric("lag_bytes", Kind.GAUGE, ("channel", "target"), "log of the source that the target lacks")
TABLES = Metric("tables", Kind.GAUGE, ("channel", "target", "state"), "tables in a state")
SUSPENDED = Metric("suspended_tables", Kind.GAUGE, ("channel", "target"), "tables that get no changes until repaired")
STAGE_SECONDS = Metric("stage_seconds", Kind.GAUGE, ("channel", "stage"), "duration of the newest task of a stage")
STAGE_FAILURES = Metric("stage_failures", Kind.COUNTER, ("channel", "stage"), "tasks of a stage that have failed")
ROWS = Metric("rows", Kind.COUNTER, ("channel", "kind"), "rows inserted, updated, deleted, loaded, at all targets")
SCHEMA_CHANGES = Metric("schema_changes", Kind.COUNTER, ("channel",), "statements that altered targets")

METRICS = (
    LEVEL,
    WAITING,
    CONTROLS,
    LAG_SECONDS,
    LAG_BYTES,
    TABLES,
    SUSPENDED,
    STAGE_SECONDS,
    STAGE_FAILURES,
    ROWS,
    SCHEMA_CHANGES,
)


def are_on() -> bool:
    """Return whether Airflow sends metrics anywhere."""
    from airflow.sdk.configuration import conf

    ways = ("statsd_on", "statsd_datadog_enabled", "otel_on")
    return any(conf.getboolean("metrics", way, fallback=False) for way in ways)


def samples_of_health(health: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield the metrics of a channel's health (`channel_health`)."""
    channel = {"channel": health["channel"]}
    yield Sample(LEVEL, Level(health["verdict"]["level"]).rank, channel)
    yield Sample(WAITING, len(health["waiting"]), channel)
    yield Sample(CONTROLS, sum(one["kind"] == "control" for one in health["waiting"]), channel)
    for target in health["targets"]:
        place = {**channel, "target": target["target"]}
        for metric in (LAG_SECONDS, LAG_BYTES):
            if target.get(metric.name) is not None:
                yield Sample(metric, target[metric.name], place)
        for state in TableStatus:
            yield Sample(TABLES, target["states"].get(state.value, 0), {**place, "state": state.value})
        yield Sample(SUSPENDED, target["states"].get(TableStatus.SUSPENDED.value, 0), place)


def samples_of_stage(channel: str, stage: str, seconds: float, result: Mapping[str, Any] | None) -> Iterator[Sample]:
    """Yield the metrics of a task. result: what the stage returned; None: it has failed."""
    place = {"channel": channel, "stage": stage}
    yield Sample(STAGE_SECONDS, round(seconds, 3), place)
    if result is None:
        yield Sample(STAGE_FAILURES, 1, place)
        return
    counts: Mapping[str, int] = {}
    if stage == INTEGRATE.name:
        counts = result.get("rows") or {}
    elif stage == REFRESH.name:
        counts = {"loaded": sum((result.get("tables") or {}).values())}
    for kind, count in counts.items():
        if count:
            yield Sample(ROWS, count, {"channel": channel, "kind": kind})
    if stage == ADAPT.name and result.get("executed"):
        yield Sample(SCHEMA_CHANGES, len(result["executed"]), {"channel": channel})


def send(samples: Iterator[Sample]) -> None:
    """Send samples through Airflow, each with tags, and under a name with what it is about for StatsD without tags."""
    from airflow.sdk.observability import stats

    for one in samples:
        name = f"{PREFIX}.{one.metric.name}"
        about = [stats.normalize_name_for_stats(one.tags[tag], log_warning=False) for tag in one.metric.tags]
        if one.metric.kind is Kind.GAUGE:
            stats.gauge(name, one.value, tags=dict(one.tags))
            stats.gauge(".".join((name, *about)), one.value)
        else:
            stats.incr(name, int(one.value), tags=dict(one.tags))
            stats.incr(".".join((name, *about)), int(one.value))
