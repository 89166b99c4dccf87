"""Extract evaluates a DDL statement in 14 stages, in this order."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.extract.add_trandata import add_trandata
from airflow_ddlrepl.goldengate.extract.capture import capture
from airflow_ddlrepl.goldengate.extract.detect_rename import detect_rename
from airflow_ddlrepl.goldengate.extract.determine_scope import determine_scope
from airflow_ddlrepl.goldengate.extract.find_ddl_parameter import find_ddl_parameter
from airflow_ddlrepl.goldengate.extract.get_names import get_names
from airflow_ddlrepl.goldengate.extract.ignore_replicates import ignore_replicates
from airflow_ddlrepl.goldengate.extract.rewrite_rename import rewrite_rename
from airflow_ddlrepl.goldengate.extract.write_to_trail import write_to_trail
from airflow_ddlrepl.goldengate.record import Evaluation, Record, Stage, evaluate
from airflow_ddlrepl.goldengate.stages.filter_statement import filter_statement
from airflow_ddlrepl.goldengate.stages.remove_comments_after import remove_comments_after
from airflow_ddlrepl.goldengate.stages.remove_comments_before import remove_comments_before
from airflow_ddlrepl.goldengate.stages.separate_comments import separate_comments
from airflow_ddlrepl.goldengate.stages.substitute_text import substitute_text
from airflow_ddlrepl.goldengate.statement.renames import split_objects

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
