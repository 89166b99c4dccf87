"""Failure isolation: an error at one target, or in one stage, does not stop the others; it is raised at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from airflow_ddlrepl.engines import explained
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.run.context import log


@dataclass
class FailureIsolation:
    """A failure isolation collects the errors of the pieces of work that failed, and raises them at the end.

    An error that concerns the whole run passes at once: it has lost the channel, its file is wrong, Spark does not
    start.
    """

    errors: list[DdlReplError] = field(default_factory=list)

    @contextmanager
    def one(self, target: str | None = None, *, client: str = "") -> Iterator[None]:
        """Run one piece of work and collect its error, which then names whom it is about.

        target: the one that the work is about. client: that of Streams which does the work, in words.
        """
        try:
            yield
        except Exception as error:
            known = explained(error)
            if known is None or not known.is_local:
                raise
            known.caused_by(error.__cause__ if known is error else error)
            self.errors.append(known.about(target=target, client=client))

    def end(self) -> None:
        """Raise the first of the collected errors, when all work is done; the others are logged."""
        for other in list(dict.fromkeys(map(str, self.errors)))[1:]:
            log.error("%s", other)
        if self.errors:
            raise self.errors[0].with_others(self.errors[1:])
