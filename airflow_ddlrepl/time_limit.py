"""A call of somebody's function ends after a while: a value of a row may be one that it would work on for ever."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any


class LimitExceeded(TimeoutError):
    """A call took too long, and was ended."""


class TimeLimit:
    """A limit ends a call that takes too long by LimitExceeded; it can stop calls of a process's main thread alone."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._can_stop = threading.current_thread() is threading.main_thread()
        self._before: Any = None

    def __enter__(self) -> TimeLimit:
        if self._can_stop:
            self._before = signal.signal(signal.SIGALRM, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        if self._can_stop:
            signal.signal(signal.SIGALRM, self._before)

    def __call__(self, function: Callable[..., Any], argument: Any) -> Any:
        if not self._can_stop:
            return function(argument)
        left, began = signal.setitimer(signal.ITIMER_REAL, self._seconds)[0], time.monotonic()
        try:
            return function(argument)
        finally:  # a limit around this one goes on
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 0.001) if left else 0)

    def _stop(self, *_: object) -> None:
        raise LimitExceeded(f"it took longer than {self._seconds:g} s")
