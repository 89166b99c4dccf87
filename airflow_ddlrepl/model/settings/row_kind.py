"""This module defines the kinds of row changes that a channel file may leave out."""

from __future__ import annotations

from enum import StrEnum


class RowKind(StrEnum):
    """A kind of row change: what a statement did to a row, or to all rows of a table."""

    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    TRUNCATE = "TRUNCATE"


IGNORED = "its settings ignore {}"
"""Why a target does not take such a change."""
