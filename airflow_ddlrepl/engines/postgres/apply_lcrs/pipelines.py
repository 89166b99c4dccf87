"""This module sends statements to a server without waiting for each: an error comes later, and is the first one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airflow_ddlrepl.engines.abilities.lcr_target import NotTogether
from airflow_ddlrepl.engines.postgres.connection.driver import Connection


@contextmanager
def pipelined(connection: Connection[Any]) -> Iterator[None]:
    """Send what is executed inside the `with` without waiting for its results; raise the first error at its end.

    Else the driver logs for each pipeline with an error that what was sent behind the error has not run.
    """
    import psycopg

    first: Exception | None = None
    try:
        with connection.pipeline():
            try:
                yield
            except (psycopg.Error, NotTogether) as error:
                first = error  # and the pipeline's end takes the results of what was sent
    except psycopg.errors.PipelineAborted as error:
        raise first or error.__context__ or error from None
    if first is not None:
        raise first
