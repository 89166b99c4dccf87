"""Here a run learns in what its targets may compute other values than its source does."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.errors import Unreachable
from airflow_ddlrepl.flow.run.context import RunContext


def target_facts(run: RunContext, present: ServerFacts) -> TargetFacts:
    """Return the facts of a target that are the same for all its tables; of an unreachable source nothing is known."""
    source, there = run.source_traits, present.traits
    return TargetFacts(
        present.type_system,
        server_version=present.version,
        extensions=present.extensions,
        publishes_generated=source is not None and source.publishes_generated,
        has_collation=present.has_collation,
        has_builtin=present.has_builtin,
        unlike=source.unlike(there) if source is not None and there is not None else frozenset(),
    )


def told_traits(run: RunContext, target: str) -> Sequence[str]:
    """Return in words in what a target differs from the source; nothing where one of them does not answer."""
    try:
        source, there = run.source_traits, run.target(target).facts().traits
        return list(source.told(there)) if source is not None and there is not None else []
    except Unreachable:
        return []
