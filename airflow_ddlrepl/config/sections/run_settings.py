"""This module defines `capture`, `spark` and `lock`: how runs read the log, start Spark and lock the channel."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema, field_validator

from airflow_ddlrepl.config.sections.ignored_sessions import NO_SESSIONS, IgnoredSessions
from airflow_ddlrepl.config.sections.policies import CaptureFormat
from airflow_ddlrepl.notation.importable import importable
from airflow_ddlrepl.notation.section import Bytes, Seconds, Section, Whole, YesNo


def _importable(value: str) -> str:
    return importable(value, "shop_alerts:tell") if value else value


OnTrouble = Annotated[
    str,
    AfterValidator(_importable),
    Field(description="module:name of a function, or of an Airflow notifier, that is told of troubles and their end"),
]


class Capture(Section):
    """This section sets how the source's log is read."""

    parallel: Whole | None = Field(None, ge=1, le=256, description="log ranges read at once; default: Spark's cores")
    window_bytes: Bytes = Field(1 << 30, ge=1 << 20, description="log bytes that one window reads at most")
    format: CaptureFormat = CaptureFormat.AUTO
    no_truncate: YesNo = Field(False, description="a TRUNCATE at the source is not captured: the targets' rows stay")
    ignore_sessions: IgnoredSessions = Field(NO_SESSIONS, description="sessions whose changes are not captured")


_CONF = WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})


class Spark(Section):
    """This section sets how the Spark apps start."""

    master: str = Field("", description="Spark master URL; default: what spark-submit says, else local[*]")
    conf: Annotated[dict[str, str], _CONF] = Field({}, repr=False, description="Spark configuration")
    remote: str = Field("", repr=False, description="sc:// URL of a running Spark Connect server")

    @field_validator("conf", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        return {k: _spark_text(v) for k, v in value.items()} if isinstance(value, dict) else value


def _spark_text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


class Lock(Section):
    """This section sets how long a channel stays locked by a run that no longer answers."""

    lease_seconds: Seconds = Field(
        60, ge=5, le=86400, description="without a sign of life for so long, another run may take over"
    )
