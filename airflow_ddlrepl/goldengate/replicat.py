"""Replicat evaluates a DDL statement in stages, from the trail to its end at a target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from airflow_ddlrepl.goldengate.ddl_errors import UNTRANSLATABLE, Answer, Handling, response_to
from airflow_ddlrepl.goldengate.event_record import record_of
from airflow_ddlrepl.goldengate.mapped_names import (
    derived_target,
    former_name,
    lies_with_its_table,
    with_base,
    with_derived,
)
from airflow_ddlrepl.goldengate.parameters.clauses import MAPPED, OTHER, UNMAPPED
from airflow_ddlrepl.goldengate.parameters.mapping import targets_of
from airflow_ddlrepl.goldengate.parameters.replicat import NO_FURTHER_TARGET, ReplicatParameters
from airflow_ddlrepl.goldengate.record import (
    DISCARDED,
    GOES_ON,
    RUNS,
    Evaluation,
    Record,
    Stage,
    Step,
    Verdict,
    Why,
    evaluate,
)
from airflow_ddlrepl.goldengate.text_stages import (
    filter_statement,
    remove_comments_after,
    remove_comments_before,
    separate_comments,
    substitute_text,
)
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.comments import split_comments
from airflow_ddlrepl.sql.names import read
from airflow_ddlrepl.sql.objects import base_and_derived
from airflow_ddlrepl.sql.operation import is_mappable
from airflow_ddlrepl.sql.renames import split_objects


def read_from_trail(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Take the statement at its place among the rows of the trail."""
    return record._replace(text=record.raw), ("{} characters of {} text", len(record.raw), record.dialect), GOES_ON


def qualify(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Read what the statement is about, whatever Extract has found, and whether such a statement can be mapped."""
    reading = read(record.text, record.dialect)
    base, derived = base_and_derived(reading, record.schema, record.known_base)
    record = record._replace(
        reading=reading,
        operation=reading.operation,
        object_type=reading.object_type,
        is_rename=reading.is_rename,
        base=base,
        derived=derived,
    )
    if is_mappable(record.operation, record.object_type):
        return record, ("{0.operation} {0.object_type} can be mapped", record), GOES_ON
    why = f"OTHER: {record.operation} {record.object_type}".rstrip()
    return record._replace(scope=OTHER), why, GOES_ON


def check_maps(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Give the scope MAPPED to a statement whose base object a MAP lists, else UNMAPPED; OTHER stays.

    `target` may say already which of several targets this evaluation is for.
    """
    if record.scope is OTHER:
        return record, "OTHER: names stay as they are", GOES_ON
    target = record.target
    if target is None and record.base is not None:
        target = next(iter(targets_of(record.base, parameters, record.dialect)), None)
    if target is None and record.base is None:
        why = "UNMAPPED: the object that {0.operation} {0.object_type} is about is not known"
        return record._replace(scope=UNMAPPED), (why, record), GOES_ON
    if target is None:
        return record._replace(scope=UNMAPPED), ("UNMAPPED: no MAP lists {}", record.base), GOES_ON
    return record._replace(scope=MAPPED, target=target), ("MAPPED: {} to {}", record.base, target), GOES_ON


def map_base_name(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Write the name of the target in place of the base object's; literals, comments and columns stay."""
    if record.scope is not MAPPED or record.target is None:
        schema = record.base.schema if record.scope is UNMAPPED and record.base is not None else ""
        if not schema:
            return record, "names stay", GOES_ON
        return record._replace(session_schema=schema), ("names stay, runs with the current schema {}", schema), GOES_ON
    text = with_base(record, record.target, parameters)
    return record._replace(text=text), ("{0.base} is {0.target}", record), GOES_ON


def map_derived_name(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Write the name of the derived object at the target, unless NOMAPDERIVED leaves it as at the source."""
    why: Why = "there is none"
    derived = record.derived
    if derived is not None and record.target is not None:
        why = "NOMAPDERIVED: it stays"
        name = derived_target(record, parameters) if parameters.map_derived else None
        if name is None and lies_with_its_table(record):
            name = TableName(record.target.schema, derived.name)
        if name is not None:
            why = _why(record, derived, name, parameters)
            record = record._replace(text=with_derived(record, name), derived=name)
    elif derived is not None:
        why = "the base object is not mapped: it stays"
    if record.target is not None:
        record = record._replace(command=_command(record), base=record.target)
    return record, why, GOES_ON


def _why(record: Record, derived: TableName, name: TableName, parameters: ReplicatParameters) -> Why:
    if record.is_rename and former_name(record, parameters) is None:
        why = "{} is {}: no MAP of this TARGET lists it; a channel's target that lacks the table loads it instead"
        return why, derived, name
    return "{} is {}" if parameters.map_derived else "NOMAPDERIVED: {} lies with its table: {}", derived, name


def _command(record: Record) -> str:
    """Return the text without comments; a statement that had none gets none from a name."""
    return split_comments(record.text, record.dialect)[0] if record.comments else record.text.strip()


def execute(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Give the statement to the target; what it answers is for the stages behind.

    All stages before have seen the source's text. One that can't be translated is an error for DDLERROR, too.
    """
    if record.into is None or record.into is record.dialect:
        return record, ("runs at the target{}", _where(record)), RUNS
    from airflow_ddlrepl.sql.translation import Untranslatable, translated  # loads sqlglot

    try:
        text = translated(record.text, record.dialect, record.into)
    except Untranslatable as why:
        found = f"{UNTRANSLATABLE}: it can't be written for {record.into}: {why}"
        return record._replace(untranslatable=str(why)), found, RUNS
    found = f"runs at the target{_where(record)}, written for {record.into}"
    return record._replace(text=text), found, RUNS


def _where(record: Record) -> str:
    return f" with the current schema {record.session_schema}" if record.session_schema else ""


STAGES: tuple[Stage[ReplicatParameters], ...] = (
    Stage("read from trail", read_from_trail),
    Stage("separate comments", separate_comments),
    Stage("remove comments before", remove_comments_before),
    Stage("qualify", qualify),
    Stage("check maps", check_maps),
    Stage("map base name", map_base_name),
    Stage("map derived name", map_derived_name),
    Stage("filter", filter_statement),
    Stage("substitute", substitute_text),
    Stage("remove comments after", remove_comments_after),
    Stage("execute", execute),
)
CHECK_ERROR, FIND_RULE, HANDLE = "check for an error", "find DDLERROR rule", "handle"


def replicate(record: Record, parameters: ReplicatParameters) -> Iterator[Evaluation]:
    """Yield the evaluation of a statement of the trail for each target that MAP gives its base object; at least one.

    With parameters for a further TARGET statements are evaluated whose base object has one, and no others.
    """
    reading = read(record.raw, record.dialect)
    base, _ = base_and_derived(reading, record.schema, record.known_base)
    can_be_mapped = base is not None and is_mappable(reading.operation, reading.object_type)
    targets = targets_of(base, parameters, record.dialect) if base is not None and can_be_mapped else ()
    for target in targets or (() if parameters.is_further else (None,)):
        yield evaluate(record if target == record.target else record._replace(target=target), parameters, STAGES)


def replicate_each(record: Record, parameters: ReplicatParameters) -> list[Evaluation]:
    """Return the evaluations of a statement; of one that renames or drops several objects, those of each."""
    texts = split_objects(record.raw, record.dialect)
    return [one for text in texts for one in replicate(record._replace(raw=text), parameters)]


def answered(
    evaluation: Evaluation, error: str | None, tries: int, parameters: ReplicatParameters
) -> tuple[Evaluation, Answer]:
    """Return the evaluation with the stages behind the run, and how to go on. error: the code that the target gave.

    A text that could not be translated has not been run: its error is DDL-104.
    """
    if evaluation.record.untranslatable:
        error = UNTRANSLATABLE
    found = response_to(evaluation.record, error, tries, parameters)
    text = evaluation.record.text
    said = [(CHECK_ERROR, f"error {error}" if error else "no error: the next statement", GOES_ON)]
    if error:
        outcome = DISCARDED if found.handling is Handling.DISCARD else GOES_ON
        said += [(FIND_RULE, found.why, GOES_ON), (HANDLE, found.handling.value, outcome)]
    steps = [Step(number, *one, text) for number, one in enumerate(said, len(STAGES) + 1)]
    return evaluation._replace(answers=tuple(steps)), found


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
    if event.is_about_feed:
        return None
    record = record_of(event)
    found = replicate_each(record, parameters)
    if not found:
        return Replicated(record, NO_FURTHER_TARGET, is_elsewhere=True)
    why = next((f"Replicat discards it: {one.why}" for one in found if one.outcome is DISCARDED), "")
    whole = found[0] if len(found) == 1 else next(replicate(record, parameters), found[0])
    return Replicated(whole.record, why)
