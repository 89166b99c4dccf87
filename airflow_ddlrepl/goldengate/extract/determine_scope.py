"""Stage 9: the scope: MAPPED, UNMAPPED or OTHER."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.clauses import DdlScope
from airflow_ddlrepl.config.goldengate.extract import ExtractParameters, ScopeSemantics
from airflow_ddlrepl.config.goldengate.listing import table_of
from airflow_ddlrepl.goldengate.record import Record, Verdict
from airflow_ddlrepl.goldengate.statement.operation import is_mappable


def determine_scope(record: Record, parameters: ExtractParameters) -> Verdict:
    """Say whether the statement's objects can be mapped, and whether TABLE lists them; of a rename either name does."""
    can_be_mapped = is_mappable(record.operation, record.object_type)
    is_listed = _is_listed(record, parameters)
    scope = scope_of(can_be_mapped, is_listed, parameters.scope_semantics)
    listed = "listed" if is_listed else "not listed"
    why = f"{record.operation} {record.object_type} {'can' if can_be_mapped else 'can not'} be mapped, {listed}"
    return Verdict(record._replace(scope=scope), f"{scope}: {why}")


def scope_of(can_be_mapped: bool, is_listed: bool, semantics: ScopeSemantics) -> DdlScope:
    """Return the scope by both facts, in one of the two readings of the description."""
    if can_be_mapped and is_listed:
        return DdlScope.MAPPED
    if semantics is ScopeSemantics.LITERAL:
        return DdlScope.OTHER if can_be_mapped or is_listed else DdlScope.UNMAPPED
    return DdlScope.UNMAPPED if can_be_mapped else DdlScope.OTHER


def _is_listed(record: Record, parameters: ExtractParameters) -> bool:
    names = [record.base, record.derived if record.is_rename else None]
    return any(name is not None and table_of(name, parameters) is not None for name in names)
