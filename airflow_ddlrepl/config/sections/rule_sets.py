"""`rules`: which of the captured changes a target takes. Oracle Streams' rule sets of an apply process.

A change that is discarded triggers nothing there, whatever the policies say. Loads (activation, refreshes) are no
changes of the log: rules do not hold for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pydantic import Field, model_validator

from airflow_ddlrepl.config.base.name_pattern import any_matches
from airflow_ddlrepl.config.base.section import Section, TablePattern, YesNo
from airflow_ddlrepl.model.names import TableName


class ChangeKind(StrEnum):
    """What a rule tells apart. TRUNCATE counts as DDL."""

    DML = "dml"
    DDL = "ddl"


class Rule(Section):
    """It is true for changes of these tables: `"*.*"` for all, `"hr.*"` for a schema's, `"hr.jobs"` for one."""

    tables: tuple[TablePattern, ...] = Field(min_length=1, description='patterns "schema.table", as at the source')
    dml: YesNo = Field(True, description="their inserts, updates and deletes")
    ddl: YesNo = Field(True, description="their schema changes, creation and TRUNCATE")

    @model_validator(mode="after")
    def _is_about_something(self) -> Rule:
        if not self.dml and not self.ddl:
            raise ValueError("is about nothing: dml and ddl are both false")
        return self

    def is_true(self, kind: ChangeKind, name: TableName) -> bool:
        return bool(getattr(self, kind)) and any_matches(self.tables, name)


class RuleSets(Section):
    """A change is taken when no negative rule is true and, where there is a positive set, one of its rules is."""

    positive: tuple[Rule, ...] | None = Field(None, description="none: every change; an empty list: no change at all")
    negative: tuple[Rule, ...] | None = Field(None, description="looked at first: one that is true discards")

    @property
    def are_none(self) -> bool:
        """Every change is taken."""
        return self.positive is None and not self.negative

    def why_discarded(self, kind: ChangeKind, name: TableName) -> str:
        """Which rule, or which lack of one, discards this kind of change of the table; empty when it is taken."""
        against = _first_true(self.negative or (), kind, name)
        if against is not None:
            return f"rules.negative[{against}] discards its {kind.upper()}"
        if self.positive is not None and _first_true(self.positive, kind, name) is None:
            return f"rules.positive has none for its {kind.upper()}"
        return ""

    def takes_nothing(self, name: TableName) -> bool:
        """Neither rows nor schema changes: the table is none of the target's."""
        return all(self.why_discarded(kind, name) for kind in ChangeKind)


def _first_true(rules: Sequence[Rule], kind: ChangeKind, name: TableName) -> int | None:
    return next((number for number, rule in enumerate(rules) if rule.is_true(kind, name)), None)
