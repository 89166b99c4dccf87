"""This module runs a query and returns its first row, over psycopg and over the Arrow driver.

So checks are written once for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

Ask = Callable[[str], Sequence[Any] | None]
"""This function runs a query without parameters, and returns its first row; None when there is none."""


def over(connection: Any) -> Ask:
    """Return a function that runs queries over an open connection of psycopg, or over a cursor of either driver."""
    return partial(first_row, connection)


def first_row(connection: Any, query: str) -> Sequence[Any] | None:
    """Run the query and return its first row; None when there is none.

    connection: as `over` takes it.
    """
    cursor = connection.execute(query)  # a cursor of the Arrow driver returns nothing
    row: Sequence[Any] | None = (connection if cursor is None else cursor).fetchone()
    return row
