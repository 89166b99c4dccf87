"""One cycle brings to every target what the source had committed when it began, by the channel's pipeline."""

from __future__ import annotations

from airflow_ddlrepl.flow.pipelines import pipeline_of
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.stages import REPLICATE
from airflow_ddlrepl.flow.targets.stop_position import Until


@stage(REPLICATE)
def replicate(run: RunContext, until: Until | None = None) -> Printable:
    """Run one cycle: everything that was committed before the call is in every target afterwards.

    A target with `apply_every` may wait for a later cycle, unless `until` is given or `run.targets.applies_now` is set.

    until: the targets stop there, on a transaction's end; a table that waits for a refresh goes on waiting, for it
    would show what is later. Raises DdlReplError CTL-110 or CTL-111 when the source is not there yet, or a target
    past it; and what the stages or clients of the channel have raised, once all others have done their work.
    """
    result: Printable = pipeline_of(run.channel).run_cycle(run, until)
    return result
