"""This module gives values of row LCRs as the texts that servers read; a value that stayed keeps its exact text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.messages import Message, RowLcr, Values
from airflow_ddlrepl.streams.queue.lcr_batch import value_text

NOTHING: Values = {}
Some = TypeVar("Some", bound=Message)


def text_of(lcr: RowLcr, column: str, value: Any) -> str | None:
    """Return a column's value as text; None: NULL. Raises RuleError RUL-136 for a value that no column holds."""
    try:
        return value_text(value)
    except ValueError as error:
        raise RuleError(
            f"{column} of {lcr.owner}.{lcr.name}: {error}",
            code="RUL-136",
            hint="a function gives texts, numbers, booleans, dates and bytes; other values as text",
        ) from None


def is_unchanged(before: Values, column: str, value: Any) -> bool:
    """Return whether a column has the value that it had before; 1 and true are different values."""
    if column not in before:
        return False
    found = before[column]
    return found is value or (found == value and type(found) is type(value))


def exact_text(lcr: RowLcr, column: str, value: Any, typed: Values, texts: Values) -> str | None:
    """Return a column's value as text: that of `texts` where the value is still that of `typed`.

    Raises RuleError RUL-136 for a value that no column holds.
    """
    if column in texts and is_unchanged(typed, column, value):
        text = texts[column]
        return None if text is None else str(text)
    return text_of(lcr, column, value)


def with_texts(message: Some, typed: RowLcr | None = None, texts: RowLcr | None = None) -> Some:
    """Return a message with the values of a row LCR as texts; another message stays as it is.

    typed, texts: the LCR as it was before, with values and with exact texts. Raises RuleError RUL-136.
    """
    if not isinstance(message, RowLcr):
        return message

    def image(side: str) -> Mapping[str, str | None]:
        before, exact = (NOTHING if one is None else getattr(one, side) for one in (typed, texts))
        values = getattr(message, side).items()
        return {name: exact_text(message, name, value, before, exact) for name, value in values}

    return replace(message, old=image("old"), new=image("new"))
