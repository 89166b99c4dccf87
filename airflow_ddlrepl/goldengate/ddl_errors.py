"""What becomes of a statement that the target has run, or refused with an error, by DDLERROR."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from airflow_ddlrepl.goldengate.filter_clauses import decide
from airflow_ddlrepl.goldengate.parameters.replicat import DEFAULT, ErrorAction, ErrorRule, ReplicatParameters
from airflow_ddlrepl.goldengate.record import Record

UNTRANSLATABLE = "DDL-104"
"""The code by which rules of DDLERROR are about a text that can't be written in the target's dialect."""


class Handling(StrEnum):
    """What is done about a statement next: it is over, tried again, passed over, put aside, or the Replicat ends."""

    DONE = "done"
    RETRY = "retry"
    IGNORE = "ignore"
    DISCARD = "discard"
    ABEND = "abend"


class Answer(NamedTuple):
    """An answer says how to go on behind a statement. delay: seconds to wait before it is tried again."""

    handling: Handling
    why: str
    delay: int = 0


_ACTIONS = {
    ErrorAction.ABEND: Handling.ABEND,
    ErrorAction.IGNORE: Handling.IGNORE,
    ErrorAction.DISCARD: Handling.DISCARD,
}


def response_to(record: Record, error: str | None, tries: int, parameters: ReplicatParameters) -> Answer:
    """Return how to go on. error: the code that the target gave, None for none. tries: how often it has been run.

    The first rule in the file that has the code, and whose clauses are true, counts; then the first DEFAULT; without
    either the Replicat ends.
    """
    if error is None:
        return Answer(Handling.DONE, "the target has run it")
    number, rule = _rule_for(record, error, parameters)
    if rule is None:
        return Answer(Handling.ABEND, f"no rule of DDLERROR has {error}, and there is no DEFAULT: ABEND")
    name = f"errors[{number}] {rule.error}"
    if tries <= rule.max_retries:
        return Answer(Handling.RETRY, f"{name}: try {tries} of {rule.max_retries} more", rule.retry_delay)
    return Answer(_ACTIONS[rule.action], f"{name}: {rule.action}")


def _rule_for(record: Record, error: str, parameters: ReplicatParameters) -> tuple[int, ErrorRule | None]:
    for code in (error.upper(), DEFAULT):
        for number, rule in enumerate(parameters.errors):
            if rule.error == code and decide(rule.include, rule.exclude, record).is_included:
                return number, rule
    return -1, None
