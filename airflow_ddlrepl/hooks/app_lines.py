"""Give the lines of an app the level in the task's log that the app itself gave them."""

from __future__ import annotations

import logging
import re
from collections.abc import MutableMapping
from typing import Any

OURS = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (DEBUG|INFO|WARNING|ERROR|CRITICAL) ")
"""How an app of ours begins a line (spark_apps/main.py)."""

SPARKS = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (DEBUG|INFO|WARN|ERROR|FATAL) ")
"""How Spark begins one."""


class AppLines(logging.LoggerAdapter[logging.Logger]):
    """This logger stands in for that of SparkSubmitHook, which logs whatever an app writes as INFO.

    A line that begins with neither time nor level belongs to the one before it, as hints and traces do.
    """

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__(logger, {})
        self._before = logging.INFO

    def info(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a line of the app at its own level; what the hook says itself, with arguments, is INFO."""
        if args or not isinstance(msg, str):
            super().info(msg, *args, **kwargs)
            return
        ours = OURS.match(msg)
        if found := ours or SPARKS.match(msg):
            self._before = logging.getLevelName({"WARN": "WARNING", "FATAL": "CRITICAL"}.get(found[1], found[1]))
        self.log(self._before, "%s", msg[ours.end() :] if ours else msg, **kwargs)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Return the message as it is."""
        return msg, kwargs
