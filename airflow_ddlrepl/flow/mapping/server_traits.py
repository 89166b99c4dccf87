"""Here a run learns in what its targets may compute other values than its source does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from airflow_ddlrepl.adapt.target_facts import TargetServer
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.errors import Unreachable
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.targets import server_alone


def target_server(run: RunContext, facts: ServerFacts) -> TargetServer:
    """Return what is known of a target's server for all its tables; of an unreachable source nothing is known."""
    source, there = run.source_traits, facts.traits
    return replace(
        server_alone(facts),
        source_types=run.types if run.types is not facts.type_system else None,
        publishes_generated=source is not None and source.publishes_generated,
        unlike=source.unlike(there) if source is not None and there is not None else frozenset(),
    )


def trait_differences(run: RunContext, target: str) -> Sequence[str]:
    """Return in words in what a target differs from the source; nothing where one of them does not answer."""
    try:
        source, there = run.source_traits, run.target(target).facts().traits
        return list(source.differences(there)) if source is not None and there is not None else []
    except Unreachable:
        return []
