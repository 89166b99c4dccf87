"""Limits say how much trail and how much of the source's log may gather; runs and the status warn before."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_ddlrepl.engines.abilities.of_source import RetainsLog
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.errors import LimitReached, Unreachable
from airflow_ddlrepl.flow.run.context import RunContext, log

TRAIL, SOURCE_LOG = "trail_bytes", "retained_log_bytes"
_WHAT = {TRAIL: "the trail holds", SOURCE_LOG: "the source retains for the channel's slots"}
_CODES = {TRAIL: "LIM-101", SOURCE_LOG: "LIM-102"}
_HINTS = {
    TRAIL: "bring the target that is behind up to date, or take it out of the channel file; a shorter `retention` helps"
    " where nothing is behind. `limits` in the channel file sets the limit",
    SOURCE_LOG: "run cycles, and see why the slot does not move: a long transaction at the source, `hold_log`, a trail"
    " that is full. `limits` in the channel file sets the limit",
}


@dataclass(frozen=True, slots=True)
class Reached:
    """A reached limit, or one that will be reached soon. name: its key in the channel file. size: bytes now."""

    name: str
    size: int
    limit: int

    @property
    def is_over(self) -> bool:
        """Is the limit reached?"""
        return self.size >= self.limit

    def __str__(self) -> str:
        share = self.size * 100 // self.limit
        return f"{_WHAT[self.name]} {self.size} bytes, {share}% of limits.{self.name} ({self.limit})"

    def error(self) -> LimitReached:
        """Return the error of a limit that is reached."""
        return LimitReached(str(self), code=_CODES[self.name], hint=_HINTS[self.name])


def reached(run: RunContext) -> list[Reached]:
    """Return the limits that are reached, or from which on the channel file wants a warning."""
    limits, found = run.channel.limits, []
    if limits.trail_bytes is not None:
        found.append(Reached(TRAIL, sum(row.bytes for row in run.live_segments()), limits.trail_bytes))
    if limits.retained_log_bytes is not None:
        try:
            size = max((one.bytes or 0 for one in able(run.source, RetainsLog).retained_log.holders()), default=0)
        except Unreachable:
            size = 0  # the run says so already
        found.append(Reached(SOURCE_LOG, size, limits.retained_log_bytes))
    return [one for one in found if one.size * 100 >= one.limit * limits.warn_percent]


def require_room(run: RunContext) -> None:
    """Raise LimitReached LIM-101 when no capture may begin because the trail is at its limit."""
    if run.channel.limits.at_limit == "stop_capture":
        for one in reached(run):
            if one.is_over and one.name == TRAIL:
                raise one.error()


def require_within(run: RunContext) -> None:
    """Warn of limits that come near, and raise LimitReached LIM-101 or LIM-102 for one that is reached."""
    found = reached(run)
    for one in found:
        log.warning("%s", one)
    for one in found:
        if one.is_over and run.channel.limits.at_limit != "warn":
            raise one.error()
