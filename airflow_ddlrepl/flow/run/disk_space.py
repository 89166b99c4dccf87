"""When a disk is full, the error also says how much the stage was about to write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_ddlrepl.errors import DiskFull


@contextmanager
def needing(size: int | None, what: str) -> Iterator[None]:
    """Add what was to be written to a DiskFull that passes: `about 1048576 bytes of log in this window`.

    size: in bytes; None when it is not known.
    """
    try:
        yield
    except DiskFull as error:
        if size is None:
            raise
        raise error.replaced(message=f"{error.message}; about {size} bytes {what}") from error.__cause__
