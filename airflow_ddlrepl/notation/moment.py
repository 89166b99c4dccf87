"""Parse a time or a log position as people type it."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.positions import Positions

if TYPE_CHECKING:
    import pendulum

_OFFSET = re.compile(r"[Tt ]\d{2}.*([Zz]|[+-]\d{2}(:?\d{2})?)$")


def parse_moment(text: str) -> pendulum.DateTime:
    """Return the moment of an ISO 8601 text with an offset, in UTC. Raises ConfigError CFG-111.

    Example: `2026-11-21T08:00:00+00:00`. A text without an offset is refused.
    """
    import pendulum
    from pendulum.parsing.exceptions import ParserError

    moment = None
    if _OFFSET.search(text.strip()):
        with suppress(ParserError, ValueError, OverflowError):
            found = pendulum.parse(text.strip(), strict=True)
            moment = found.in_timezone("UTC") if isinstance(found, pendulum.DateTime) else None
    if moment is None:
        raise ConfigError(
            f"{text!r} is not a moment",
            code="CFG-111",
            hint="a moment is ISO 8601 with its offset, for example 2026-11-21T08:00:00+00:00",
        )
    return moment


Start = Literal["now", "oldest"] | Position | datetime


def parse_start(text: str, positions: Positions) -> Start:
    """Parse `now`, `oldest`, a moment or a position of the source. Raises ConfigError CFG-110 or CFG-111."""
    match text.strip():
        case "now" | "oldest" as word:
            return word
        case _:
            return parse_until(text, positions)


def parse_until(text: str, positions: Positions) -> Position | pendulum.DateTime:
    """Parse a moment or a position of the source. Raises ConfigError CFG-110 or CFG-111."""
    found = positions.parse(text)
    return parse_moment(text) if found is None else found
