"""Evaluations for the tests of GoldenGate's pipelines."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.goldengate.extract import extract
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import Evaluation, Record
from airflow_ddlrepl.goldengate.replicat import replicate
from airflow_ddlrepl.sql.dialect import Dialect


def at_extract(text: str, *, dialect: str = "postgres", **parameters: Any) -> Evaluation:
    """The one evaluation of a statement by an Extract, which takes every DDL unless the parameters say otherwise."""
    (found,) = all_at_extract(text, dialect=dialect, **parameters)
    return found


def all_at_extract(text: str, *, dialect: str = "postgres", **parameters: Any) -> list[Evaluation]:
    is_replicated = parameters.pop("is_replicated", False)
    record = Record(text, Dialect(dialect), is_replicated=is_replicated)
    return list(extract(record, ExtractParameters.model_validate({"ddl": {}, **parameters})))


def at_replicat(text: str, *, dialect: str = "postgres", **parameters: Any) -> Evaluation:
    """The one evaluation of a statement by a Replicat."""
    (found,) = all_at_replicat(text, dialect=dialect, **parameters)
    return found


def all_at_replicat(text: str, *, dialect: str = "postgres", **parameters: Any) -> list[Evaluation]:
    return list(replicate(Record(text, Dialect(dialect)), ReplicatParameters.model_validate(parameters)))


def maps(**pairs: str) -> list[dict[str, str]]:
    """MAP parameters; `hr__a="bk.a"` maps hr.a, a trailing `__` is the wildcard `.*`."""
    return [{"source": source, "target": target} for source, target in pairs.items()]


def why(evaluation: Evaluation, stage: str) -> str:
    """What a stage has said."""
    (found,) = [step.why for step in evaluation.steps if step.stage == stage]
    return found
