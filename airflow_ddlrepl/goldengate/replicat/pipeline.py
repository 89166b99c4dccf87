"""Replicat evaluates a DDL statement in 14 stages: ten before it runs, the run, and three that look at the answer."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.config.goldengate.mapping import targets_of
from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import DISCARDED, GOES_ON, Evaluation, Record, Stage, Step, evaluate
from airflow_ddlrepl.goldengate.replicat.check_maps import check_maps
from airflow_ddlrepl.goldengate.replicat.errors import UNTRANSLATABLE, Answer, Handling, answer
from airflow_ddlrepl.goldengate.replicat.execute import execute
from airflow_ddlrepl.goldengate.replicat.map_base_name import map_base_name
from airflow_ddlrepl.goldengate.replicat.map_derived_name import map_derived_name
from airflow_ddlrepl.goldengate.replicat.qualify import qualify
from airflow_ddlrepl.goldengate.replicat.read_from_trail import read_from_trail
from airflow_ddlrepl.goldengate.stages.filter_statement import filter_statement
from airflow_ddlrepl.goldengate.stages.remove_comments_after import remove_comments_after
from airflow_ddlrepl.goldengate.stages.remove_comments_before import remove_comments_before
from airflow_ddlrepl.goldengate.stages.separate_comments import separate_comments
from airflow_ddlrepl.goldengate.stages.substitute_text import substitute_text
from airflow_ddlrepl.goldengate.statement.names import read
from airflow_ddlrepl.goldengate.statement.objects import base_and_derived
from airflow_ddlrepl.goldengate.statement.operation import is_mappable
from airflow_ddlrepl.goldengate.statement.renames import split_objects

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
    found = answer(evaluation.record, error, tries, parameters)
    text = evaluation.record.text
    steps = [Step(12, CHECK_ERROR, f"error {error}" if error else "no error: the next statement", GOES_ON, text)]
    if error:
        steps.append(Step(13, FIND_RULE, found.why, GOES_ON, text))
        outcome = DISCARDED if found.handling is Handling.DISCARD else GOES_ON
        steps.append(Step(14, HANDLE, found.handling.value, outcome, text))
    return evaluation._replace(answers=tuple(steps)), found
