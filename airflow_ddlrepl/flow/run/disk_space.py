"""Room on a disk: an error that says it is full also says how much the stage was about to write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_ddlrepl.errors import DiskFull


@contextmanager
def needing(size: int, what: str) -> Iterator[None]:
    """A DiskFull that passes tells of so many bytes: `about 1048576 bytes of log in this window`."""
    try:
        yield
    except DiskFull as error:
        error.message += f"; about {size} bytes {what}"
        raise
