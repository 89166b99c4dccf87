"""This module defines the section `rules`: which of the captured changes a target takes.

They are Oracle Streams' rule sets of an apply process. A change that is discarded triggers nothing at the target,
whatever the policies say. Loads (activation, refreshes) are no changes of the log: rules do not hold for them.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from airflow_ddlrepl.notation.section import Section, TablePattern, YesNo


class Rule(Section):
    """A rule is true for changes of these tables: `"*.*"` for all, `"hr.*"` for a schema's, `"hr.jobs"` for one."""

    tables: tuple[TablePattern, ...] = Field(min_length=1, description='patterns "schema.table", as at the source')
    dml: YesNo = Field(True, description="their inserts, updates and deletes")
    ddl: YesNo = Field(True, description="their schema changes, creation and TRUNCATE")

    @model_validator(mode="after")
    def _is_about_something(self) -> Rule:
        if not self.dml and not self.ddl:
            raise ValueError("has no effect: dml and ddl are both false")
        return self


class RuleSets(Section):
    """A change is taken when no negative rule is true and, where there is a positive set, one of its rules is."""

    positive: tuple[Rule, ...] | None = Field(None, description="none: every change; an empty list: no change at all")
    negative: tuple[Rule, ...] | None = Field(None, description="looked at first: one that is true discards")
