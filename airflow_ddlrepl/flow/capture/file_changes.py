"""A channel file may change after activation: the source is brought up to it, or the run says what it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.results import Captured
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True)
class FileChange:
    """A file change says what the channel file says otherwise than at activation.

    done: tables that joined and left, with the position. keys: those that need an activation, as this role may not act.
    lost: tables whose rows are in no log until then.
    """

    done: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def admits(self, table: Table, members: set[int]) -> bool:
        """May a table that the channel does not know join it now? Not before the source publishes it."""
        return not self.keys or table.id in members


def take_over_file(run: RunContext) -> FileChange:
    """Bring the source up to the channel file where this run's role may; else warn of the keys that do nothing yet."""
    members = run.source.membership
    keys = members.changed_keys()
    if not keys:
        return FileChange()
    done = members.take_over_file()
    if done is None:
        log.warning("the channel file has changed since activation, and does nothing yet: %s. %s", _listed(keys), HINT)
        return FileChange(keys=tuple(keys), lost=tuple(map(str, members.unpublished())))
    at = Position(run.source.log_end())
    log.info("the channel file has changed (%s): the source is brought up to it at %s", _listed(keys), at)
    told = tuple(f"{one} at {at}" for one in done)
    for one in told:
        log.warning("%s, as the channel file says", one)
    return FileChange(told)


HINT = "Run `ddlrepl activate` as the role that activated the channel"


def require_file_taken_over(captured: Captured) -> None:
    """Raise SourceError SRC-136 where rows are lost because the file has changed and this role may not act on it."""
    if captured.unpublished:
        raise file_error(captured.unpublished)


def file_error(names: Sequence[str]) -> SourceError:
    """Return SourceError SRC-136: the file names tables since activation that this role can't publish."""
    return SourceError(
        f"the channel file has changed since activation: rows of {_listed(names)} are in no log yet; the other tables"
        " go on",
        code="SRC-136",
        hint=f"{HINT}; it publishes and loads them",
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
