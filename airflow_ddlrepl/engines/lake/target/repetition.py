"""This module does a run's work at a lake again where somebody else has written to one of its tables meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from airflow_ddlrepl.errors import WrittenMeanwhile

ATTEMPTS = 5
LONGEST_PAUSE = 20.0
log = logging.getLogger("ddlrepl")
Result = TypeVar("Result")


def repeated(work: Callable[[], Result]) -> Result:
    """Do work that reads tables and writes them; again, on what they are then, while somebody else writes to them.

    Raises WrittenMeanwhile TGT-112 when that happens each time: nothing of it is visible.
    """
    trying = Retrying(
        retry=retry_if_exception_type(WrittenMeanwhile),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random_exponential(max=LONGEST_PAUSE),
        before_sleep=_say,
        retry_error_callback=_give_up,
    )
    return trying(work)


def _say(state: RetryCallState) -> None:
    log.warning("%s: the tables are read again", _error(state).message)


def _give_up(state: RetryCallState) -> None:
    error = _error(state)
    raise error.replaced(
        message=f"{error.message}; so it was {state.attempt_number} times in a row",
        hint="nothing of this run is visible, and what the others have written is there. Let whoever writes to this"
        " table so often pause while the channel runs, or run the channel when nobody writes",
    )


def _error(state: RetryCallState) -> WrittenMeanwhile:
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, WrittenMeanwhile), error
    return error
