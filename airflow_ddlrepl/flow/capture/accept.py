"""A person accepts that source or repository was put back to an older copy, or that the server was upgraded."""

from __future__ import annotations

import re

from airflow_ddlrepl.config.sections.policies import Accepted
from airflow_ddlrepl.errors import ConfigError, RepositoryPutBack, SourcePutBack
from airflow_ddlrepl.flow.capture.log_continuity import follow, require_source_log
from airflow_ddlrepl.flow.capture.source_marks import require_own_leftovers
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import require_target_not_cut_over
from airflow_ddlrepl.flow.targets.applied_marks import is_ahead
from airflow_ddlrepl.model.position import Position


def is_put_back(run: RunContext, accepted: Accepted) -> bool:
    """Was what a person accepts put back to an older copy? Then every table starts over.

    Raises ConfigError CFG-196 when it was not: nothing is loaded for a mistake.
    """
    kind = {"source": SourcePutBack, "repository": RepositoryPutBack}.get(accepted)
    if kind is None:
        return False
    try:
        follow(run)
        require_source_log(run)
        require_own_leftovers(run)
    except (SourcePutBack, RepositoryPutBack) as error:
        if isinstance(error, kind):
            log.warning("%s: accepted, every table starts over", error.message)
            return True
        raise
    if accepted == "repository" and any(is_ahead(run, target.name) for target in run.targets.answering()):
        return True
    raise ConfigError(
        f"there is nothing to accept: nothing shows that the {accepted} was put back to an older copy",
        code="CFG-196",
        hint="run `ddlrepl activate` without --accept",
    )


def take_targets_over(run: RunContext, position: Position) -> None:
    """Let every target that has the channel follow this repository, whatever one it has followed so far."""
    for target in run.channel.targets:
        place = run.target(target.name)
        if place.position() is not None:
            require_target_not_cut_over(run, target.name)
            place.take_over(position, run.fence)


def raise_epoch(run: RunContext) -> None:
    """Let the channel's epoch be later than each that a target or the trail has seen."""
    found = [run.epoch, *_epochs_of_trail(run)]
    for target in run.channel.targets:
        at = run.target(target.name).position()
        found += [at.epoch] if at is not None else []
    run.repository.raise_epoch(run.channel.name, run.token, max(found))


def _epochs_of_trail(run: RunContext) -> set[int]:
    return {int(found[1]) for path in run.trail.place.walk() if (found := re.match(r"e(\d+)/", path))}
