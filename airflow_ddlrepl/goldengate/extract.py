"""Extract evaluates a DDL statement in stages, from the source's log to the trail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_ddlrepl.goldengate.event_record import record_of
from airflow_ddlrepl.goldengate.parameters.clauses import MAPPED, OTHER, UNMAPPED, DdlScope
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters, ScopeSemantics
from airflow_ddlrepl.goldengate.parameters.listing import table_of
from airflow_ddlrepl.goldengate.record import DISCARDED, GOES_ON, WRITTEN, Evaluation, Record, Stage, Verdict, evaluate
from airflow_ddlrepl.goldengate.text_stages import (
    filter_statement,
    remove_comments_after,
    remove_comments_before,
    separate_comments,
    substitute_text,
)
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.sql.names import read
from airflow_ddlrepl.sql.objects import base_and_derived
from airflow_ddlrepl.sql.operation import is_mappable
from airflow_ddlrepl.sql.renames import rewritten, split_objects


def capture(record: Record, parameters: ExtractParameters) -> Verdict:
    """Take the statement as the source's log has it."""
    return record._replace(text=record.raw), ("{} characters of {} text", len(record.raw), record.dialect), GOES_ON


def find_ddl_parameter(record: Record, parameters: ExtractParameters) -> Verdict:
    """Discard every statement where the parameters have no DDL."""
    if parameters.ddl is None:
        return record, "there is no DDL parameter: no DDL is captured", DISCARDED
    return record, ("{} INCLUDE, {} EXCLUDE", len(parameters.ddl.include), len(parameters.ddl.exclude)), GOES_ON


def ignore_replicates(record: Record, parameters: ExtractParameters) -> Verdict:
    """Discard a statement of a Replicat on this system, unless GETREPLICATES asks for it."""
    if not record.is_replicated:
        return record, "no Replicat has run it", GOES_ON
    if parameters.ignore_replicates:
        return record, "ignorereplicates: a Replicat has run it on this system", DISCARDED
    return record, "a Replicat has run it, and GETREPLICATES takes it", GOES_ON


def detect_rename(record: Record, parameters: ExtractParameters) -> Verdict:
    """Read what the statement does, and flag one that gives a table another name; of a column it is none."""
    reading = read(record.text, record.dialect)
    record = record._replace(
        reading=reading,
        operation=reading.operation,
        object_type=reading.object_type,
        is_rename=reading.is_rename,
    )
    return record, "a rename" if reading.is_rename else "no rename", GOES_ON


_FOUND = {
    (False, False): "no name",
    (True, False): "base {0.base}",
    (False, True): "derived {0.derived}",
    (True, True): "base {0.base}, derived {0.derived}",
}
"""What is said, by whether there is a base object and whether there is a derived one."""


def get_names(record: Record, parameters: ExtractParameters) -> Verdict:
    """Get the names of what the statement is about; of a rename the new name is the base, the old one is derived."""
    base, derived = base_and_derived(record.reading, record.schema, record.known_base)
    record = record._replace(base=base, derived=derived)
    return record, (_FOUND[base is not None, derived is not None], record), GOES_ON


def rewrite_rename(record: Record, parameters: ExtractParameters) -> Verdict:
    """Write RENAME TABLE a TO b as ALTER TABLE a RENAME TO b; comments stay where they stand around it."""
    if not record.is_rename or record.operation != "RENAME":
        return record, "written as it is", GOES_ON
    text, command = (rewritten(text, record.dialect) for text in (record.text, record.command))
    record = record._replace(text=text, command=command, operation="ALTER")
    return record, "written as ALTER TABLE … RENAME", GOES_ON


_LITERAL = ScopeSemantics.LITERAL


def determine_scope(record: Record, parameters: ExtractParameters) -> Verdict:
    """Say whether the statement's objects can be mapped, and whether TABLE lists them; of a rename either name does."""
    can_be_mapped = is_mappable(record.operation, record.object_type)
    is_listed = _is_listed(record, parameters)
    scope = scope_of(can_be_mapped, is_listed, parameters.scope_semantics)
    words = ("can" if can_be_mapped else "can not", "listed" if is_listed else "not listed")
    why = ("{}: {} {} {} be mapped, {}", scope, record.operation, record.object_type, *words)
    return record._replace(scope=scope), why, GOES_ON


def scope_of(can_be_mapped: bool, is_listed: bool, semantics: ScopeSemantics) -> DdlScope:
    """Return the scope by both facts, in one of the two readings of the description."""
    if can_be_mapped and is_listed:
        return MAPPED
    if semantics is _LITERAL:
        return OTHER if can_be_mapped or is_listed else UNMAPPED
    return UNMAPPED if can_be_mapped else OTHER


def _is_listed(record: Record, parameters: ExtractParameters) -> bool:
    if record.base is not None and table_of(record.base, parameters) is not None:
        return True
    return record.is_rename and record.derived is not None and table_of(record.derived, parameters) is not None


def add_trandata(record: Record, parameters: ExtractParameters) -> Verdict:
    """Have the source log whole rows of a new table; other operations need no logging command."""
    if not parameters.add_trandata:
        return record, "not asked for", GOES_ON
    if (record.operation, record.object_type) != ("CREATE", "TABLE") or record.base is None:
        return record, "no CREATE TABLE", GOES_ON
    return record._replace(trandata=record.base), ("{} logs whole rows from here on", record.base), GOES_ON


def write_to_trail(record: Record, parameters: ExtractParameters) -> Verdict:
    """Give the statement to the trail, behind what came before it in the log."""
    if not record.object_type:
        return record, f"{record.scope} {record.operation}".rstrip(), WRITTEN
    return record, ("{0.scope} {0.operation} {0.object_type}", record), WRITTEN


STAGES: tuple[Stage[ExtractParameters], ...] = (
    Stage("capture", capture),
    Stage("separate comments", separate_comments),
    Stage("find DDL parameter", find_ddl_parameter),
    Stage("ignore replicates", ignore_replicates),
    Stage("detect rename", detect_rename),
    Stage("get names", get_names),
    Stage("rewrite rename", rewrite_rename),
    Stage("remove comments before", remove_comments_before),
    Stage("determine scope", determine_scope),
    Stage("filter", filter_statement),
    Stage("substitute", substitute_text),
    Stage("remove comments after", remove_comments_after),
    Stage("add trandata", add_trandata),
    Stage("write to trail", write_to_trail),
)


def extract(record: Record, parameters: ExtractParameters) -> Iterator[Evaluation]:
    """Yield the evaluation of a captured statement; of one that renames or drops several objects, one of each."""
    for raw in split_objects(record.raw, record.dialect):
        yield evaluate(record if raw == record.raw else record._replace(raw=raw), parameters, STAGES)


def extracted(event: Event, parameters: ExtractParameters) -> Event:
    """Return a DDL event as an Extract with these parameters writes it: its text, or that it is discarded, and why.

    Other events stay as they are, and so do what an inspection has found, of which no statement is known, and a record
    that the log lacks rows because somebody has changed the publication. Of a
    statement whose text is not known, such as one inside a function, the command and the table's name are evaluated.
    One that drops several tables is discarded as soon as one of them is to stay.
    """
    if event.kind is not EventKind.DDL or event.is_inspected or event.is_about_feed:
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
