"""A person accepts that source or repository was put back to an older copy, or that the server was upgraded."""

from __future__ import annotations

import re

from airflow_ddlrepl.config.sections.policies import Accepted
from airflow_ddlrepl.errors import ConfigError, RepositoryError, RepositoryPutBack, SourcePutBack
from airflow_ddlrepl.flow.capture.log_continuity import follow, require_source_log
from airflow_ddlrepl.flow.capture.source_changes import record_activation
from airflow_ddlrepl.flow.capture.source_marks import MarkState, mark_state, require_own_leftovers
from airflow_ddlrepl.flow.pipelines import require_targets
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import require_target_not_cut_over
from airflow_ddlrepl.flow.targets.applied_marks import is_ahead
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.channels import CAPTURED


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


def accept_server(run: RunContext) -> None:
    """Let this run go on with a source whose identity has changed: the same database on an upgraded server.

    Its mark shows that it has all that was captured, and the ids of its tables that it is no copy from a dump. Where
    the upgrade makes what retains the log again, behind the position up to which it was captured, capture goes on
    there; else it is made now. What this can't show, that nobody has written before
    the slot was there, a comparison of all tables does afterwards.
    Raises ConfigError CFG-196 when the identity is as it was, RepositoryError REP-113 when mark or tables show that it
    is another database, or nothing.
    """
    require_targets(run.channel, "--accept server")
    name, captured = run.channel.name, run.captured()
    run.is_claimed = True  # whatever its identity is; the repository gets that when all is done
    if run.repository.reads(name, run.source.identity()):
        raise ConfigError(
            "there is nothing to accept: the source's server is as the repository knows it",
            code="CFG-196",
            hint="run `ddlrepl activate` without --accept",
        )
    found = mark_state(run)
    why = str(found) if found not in (MarkState.SAME, MarkState.NEXT) else _made_again(run)
    if why:
        raise RepositoryError(
            f"nothing shows that the source is the channel's database on an upgraded server: {why}",
            code="REP-113",
            at=captured,
            hint="correct the location; or `ddlrepl deactivate`, then `ddlrepl activate`, which loads its tables again",
        )
    run.source.marks.adopt_publication()
    run.source.activate(again=False, low=None)
    begin = max(captured, run.source.log_begin())
    run.source.require_readable(begin, None)
    tables = run.source.catalog.inspect(sorted(run.source.membership.published()))
    record_activation(run, tables, None, begins=True)
    server = run.source.server_run()
    run.repository.set_log_identity(name, run.token, server, run.source.log_identity.of_run(server))
    run.repository.set_position(name, run.token, CAPTURED, begin)
    log.warning("the source's server was upgraded: the log goes on at %s, and all tables are compared", begin)


def _made_again(run: RunContext) -> str:
    """Return what shows that the source's tables were made again, as from a dump; empty where nothing does."""
    ids = {name: i for i, name in run.source.catalog.list_tables().items()}
    known = run.repository.latest_revisions(run.channel.name)
    tables = [one.table for one in known.values() if one.table is not None]
    others = [
        table.name for table in tables if ids.get(table.name, table.id) != table.id and ids[table.name] not in known
    ]
    return f"{others[0]} is another table than the one that was captured, as in a copy from a dump" if others else ""


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
