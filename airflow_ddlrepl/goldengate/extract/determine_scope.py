"""Stage 9: the scope: MAPPED, UNMAPPED or OTHER."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.clauses import MAPPED, OTHER, UNMAPPED, DdlScope
from airflow_ddlrepl.config.goldengate.extract import ExtractParameters, ScopeSemantics
from airflow_ddlrepl.config.goldengate.listing import table_of
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict
from airflow_ddlrepl.goldengate.statement.operation import is_mappable

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
