"""This module defines `retention`, `limits`, `hold_log` and `rewind_horizon`: how much of the past stays available."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from airflow_ddlrepl.notation.section import Bytes, Seconds, Section

WEEK = 7 * 24 * 3600
LARGEST_MESSAGE = 128 << 20


class Retention(Section):
    """This section sets how long the trail retains files that no target and no rewind needs any more.

    Without it they are removed after a week. `age: null` retains them for ever.
    """

    age: Seconds | None = Field(WEEK, ge=0, description="seconds, or 7d; default: 7d; with `size` alone: no limit")
    size: Bytes | None = Field(None, ge=0, description="bytes, or 100GB; default: no limit")

    @model_validator(mode="before")
    @classmethod
    def _size_alone_is_all(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("size") is not None and "age" not in data:
            return {**data, "age": None}
        return data


AtLimit = Literal["fail", "warn", "stop_capture"]


class Limits(Section):
    """This section sets how much trail and log may gather while a target is down, and how large parts of it may be.

    Runs and `ddlrepl status` warn before `trail_bytes` or `retained_log_bytes` is reached. At such a limit a run does
    all its work and fails by name. What is larger than another limit is told, and stops nothing else.
    """

    trail_bytes: Bytes | None = Field(None, ge=1, description="bytes of rows in the trail, or 500GB; default: no limit")
    retained_log_bytes: Bytes | None = Field(
        None, ge=1, description="bytes of its log that the source retains for the slot, or 50GB; default: no limit"
    )
    warn_percent: int = Field(80, ge=1, le=100, description="share of a limit from which on runs and status warn")
    at_limit: AtLimit = Field(
        "fail", description="the run fails at its end; or only warns; or no capture begins while the trail is full"
    )
    message_bytes: Bytes = Field(
        LARGEST_MESSAGE,
        ge=1 << 16,
        le=512 << 20,
        description="the largest record of a schema change, and the largest message of an application, that is read;"
        " `ddlrepl.enqueue` refuses larger ones",
    )
    gaps: int = Field(
        100,
        ge=1,
        description="so many transactions of a reading, with messages under our prefix that we have not signed, have a"
        " gap of their own; the others share one",
    )
    unsendable_transactions: int = Field(
        20,
        ge=0,
        description="so many transactions of one window may have a change that the server can't send, and are left out;"
        " with more the run fails",
    )


NO_LIMITS = Limits()


class HoldLog(Section):
    """This section sets how much of its log the source holds after capture, to capture again what the trail has lost.

    A second replication slot holds that log. With both settings, log that is beyond either of them is released.
    """

    age: Seconds | None = Field(None, ge=60, description="seconds, or 1d")
    size: Bytes | None = Field(None, ge=1 << 20, description="bytes of the source's log, or 20GB")

    @model_validator(mode="after")
    def _has_an_end(self) -> HoldLog:
        if self.age is None and self.size is None:
            raise ValueError("needs age or size, so that the source's disk can't fill up")
        return self


class RewindHorizon(Section):
    """This section sets how far back a rewind can go.

    The trail archives the rows of refreshes, and archives tables again before their archives are too old. Older files
    go when `retention` allows it.
    """

    age: Seconds | None = Field(
        None, ge=60, description="seconds, or 7d; default: back to the first refresh in the trail"
    )
    size: Bytes | None = Field(None, ge=1 << 20, description="bytes of trail to replay at most, or 100GB")
    hold_log: HoldLog | None = Field(None, description="default: the source may remove its log once it is captured")
