"""Failure isolation: an error at one target, or in one stage, keeps no other from its rows; the end raises it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from airflow_ddlrepl.engines import explained
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.run.context import log


@dataclass
class FailureIsolation:
    """errors: of those that did not come to their end. One that concerns the whole run passes: it has lost the channel,
    its file is wrong, Spark does not start."""

    errors: list[DdlReplError] = field(default_factory=list)

    @contextmanager
    def one(self, target: str | None = None) -> Iterator[None]:
        """One of them. target: the one that it is about; its errors name it."""
        try:
            yield
        except Exception as error:
            told = error if isinstance(error, DdlReplError) else explained(error)
            if told is None or not told.is_local:
                raise
            told.target = told.target or target
            told.__cause__ = error.__cause__ if told is error else error
            self.errors.append(told)

    def end(self) -> None:
        """All are done. Raises the first of the errors; the others are told in the log."""
        for other in list(dict.fromkeys(map(str, self.errors)))[1:]:
            log.error("%s", other)
        if self.errors:
            raise self.errors[0]
