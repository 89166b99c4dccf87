"""A value may be read by another type from the text that its own type writes."""

from __future__ import annotations

from airflow_ddlrepl.model.types import DataType

_CHARACTERS = ("text", "varchar", "bpchar")


def written(value: str) -> str:
    """Return SQL for a value's text as its type writes it (a cast to text does not always); NULL for NULL."""
    return f"CASE WHEN num_nonnulls({value}) = 1 THEN format('%s', {value}) END"


def read_as(text: str, of: DataType) -> str:
    """Return SQL for the value that a type reads from a text. Of texts no cast is made: it would cut them."""
    return text if is_characters(of) else f"CAST({text} AS {of.text})"


def is_characters(of: DataType) -> bool:
    """Is it a type of texts, which may have a length?"""
    return of.is_builtin and of.name in _CHARACTERS
