"""This module sends the DDL events of the trail through Replicat: a text that a target runs, or why it is discarded."""

from __future__ import annotations

from typing import NamedTuple

from airflow_ddlrepl.config.goldengate.replicat import NO_FURTHER_TARGET, ReplicatParameters
from airflow_ddlrepl.goldengate.event_record import record_of
from airflow_ddlrepl.goldengate.record import DISCARDED, Record
from airflow_ddlrepl.goldengate.replicat.pipeline import replicate, replicate_each
from airflow_ddlrepl.model.change import Event, EventKind


class Replicated(NamedTuple):
    """What Replicat has made of a statement. record: with the text that runs. why: it is discarded; empty: it runs.

    is_elsewhere: it is discarded because the table has no TARGET that these parameters are for.
    """

    record: Record
    why: str = ""
    is_elsewhere: bool = False


def replicated(event: Event, parameters: ReplicatParameters) -> Replicated | None:
    """Return what a Replicat with these parameters makes of a DDL event; None: it is about no statement.

    Of a statement whose text is not known, such as one inside a function, the command and the table's name are
    evaluated. One that drops several tables is discarded as soon as one of them is to stay.
    """
    if event.kind is not EventKind.DDL or event.is_inspected or event.discarded or event.ignored:
        return None
    if event.is_about_publication:
        return None
    record = record_of(event)
    found = replicate_each(record, parameters)
    if not found:
        return Replicated(record, NO_FURTHER_TARGET, is_elsewhere=True)
    why = next((f"Replicat discards it: {one.why}" for one in found if one.outcome is DISCARDED), "")
    whole = found[0] if len(found) == 1 else next(replicate(record, parameters), found[0])
    return Replicated(whole.record, why)
