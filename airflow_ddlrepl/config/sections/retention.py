"""This module defines `retention`, `hold_log` and `rewind_horizon`: how much of the past stays available."""

from __future__ import annotations

from pydantic import Field, model_validator

from airflow_ddlrepl.config.base.section import Bytes, Seconds, Section


class Retention(Section):
    """This section sets how long the trail retains files that every target has applied."""

    age: Seconds | None = Field(None, ge=0, description="seconds, or 7d; default: files are never deleted")
    size: Bytes | None = Field(None, ge=0, description="bytes, or 100GB; default: no limit")


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
