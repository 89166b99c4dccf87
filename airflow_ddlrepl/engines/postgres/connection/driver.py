"""The types of psycopg that functions name: the driver itself is imported where it connects, for that takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection as Connection
    from psycopg import Cursor as Cursor
    from psycopg import RawCursor as RawCursor
else:
    Connection = Cursor = RawCursor = Any
