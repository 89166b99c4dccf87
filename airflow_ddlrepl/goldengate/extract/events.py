"""This module sends the DDL events of a source's log through Extract, and marks what it discards."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.event_record import record_of
from airflow_ddlrepl.goldengate.extract.pipeline import STAGES, extract
from airflow_ddlrepl.goldengate.record import DISCARDED, evaluate
from airflow_ddlrepl.model.change import Event, EventKind


def extracted(event: Event, parameters: ExtractParameters) -> Event:
    """Return a DDL event as an Extract with these parameters writes it: its text, or that it is discarded, and why.

    Other events stay as they are, and so do what an inspection has found, of which no statement is known, and a record
    that the log lacks rows because somebody has changed the publication. Of a
    statement whose text is not known, such as one inside a function, the command and the table's name are evaluated.
    One that drops several tables is discarded as soon as one of them is to stay.
    """
    if event.kind is not EventKind.DDL or event.is_inspected or event.is_about_publication:
        return event
    record = record_of(event)
    evaluations = list(extract(record, parameters))
    if any(one.outcome is DISCARDED for one in evaluations):
        why = next(one.why for one in evaluations if one.outcome is DISCARDED)
        return replace(event, discarded=f"Extract discards it: {why}")
    if event.statement is None:
        return event
    whole = evaluations[0] if len(evaluations) == 1 else evaluate(record, parameters, STAGES)
    return replace(event, statement=whole.record.text)
