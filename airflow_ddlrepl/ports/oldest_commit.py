"""This module defines what a source says of the oldest transaction that nobody has captured yet."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class OldestCommit(NamedTuple):
    """An oldest commit is when the first transaction of a part of the log committed.

    at: None: there is none. is_known: False: the source can't say, at least not now; then `at` is None.
    """

    at: datetime | None = None
    is_known: bool = True
