"""A person tries suspended tables again at once, or gives up what the log still has for them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from airflow_ddlrepl.adapt.program.suspend import suspended
from airflow_ddlrepl.engines.target_state import Applied
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.flow.apply.catch_up import catch_up, wait_for_refresh
from airflow_ddlrepl.flow.apply.suspension import suspended_error
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.stages import GIVE_UP, RETRY
from airflow_ddlrepl.flow.targets.readiness import ready_targets
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.notation.name_pattern import any_matches

GIVEN_UP = "a person gave up the changes that it was suspended with"


@dataclass(frozen=True)
class Retried(Printable):
    """This is what another try did: the tables that follow the source again, and rows, by kind."""

    tables: tuple[str, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@stage(RETRY)
def retry(run: RunContext, patterns: Sequence[str] = ()) -> Retried:
    """Bring suspended tables up to their targets' positions. patterns: `schema.table` at the source; none: all.

    Raises TargetError INT-123 where tables stay suspended, ConfigError CFG-131 when none matches.
    """
    started = time.monotonic()
    total, isolation = Applied(), FailureIsolation()
    done: list[str] = []
    for name, tables in _chosen(run, patterns).items():
        with isolation.one(name):
            catch_up(run, name, total, [one.table_id for one in tables])
            late = {one.table_id for one in suspended(run.target(name).state().table_states)}
            done += [str(one.name) for one in tables if one.table_id not in late]
            if error := suspended_error(run, name):
                raise error
    isolation.end()
    return Retried(tuple(done), dict(total.rows), round(time.monotonic() - started, 2))


@stage(GIVE_UP)
def give_up(run: RunContext, patterns: Sequence[str] = ()) -> Retried:
    """Let suspended tables wait for a refresh; one that the source has no more stays as it is.

    patterns: see `retry`.
    """
    started = time.monotonic()
    done: list[str] = []
    for name, tables in _chosen(run, patterns).items():
        wait_for_refresh(run, name, tables, GIVEN_UP)
        done += [str(one.name) for one in tables]
    return Retried(tuple(done), seconds=round(time.monotonic() - started, 2))


def _chosen(run: RunContext, patterns: Sequence[str]) -> dict[str, list[TableState]]:
    """Return the suspended tables that the patterns match, by target."""
    histories = run.repository.histories(run.channel.name)

    def names(one: TableState) -> set[TableName]:
        return {one.name, *(r.table.name for r in histories.get(one.table_id, ()) if r.table is not None)}

    found = {target.name: suspended(run.target(target.name).state().table_states) for target in ready_targets(run)}
    if patterns:
        chosen = {
            target: [one for one in tables if any(any_matches(patterns, name) for name in names(one))]
            for target, tables in found.items()
        }
        if not any(chosen.values()):
            raise ConfigError(
                f"no suspended table matches {', '.join(patterns)}",
                code="CFG-131",
                hint="`ddlrepl status` lists the tables; names are schema.table of the source",
            )
        return chosen
    return found
