"""This module defines the parameters of an Extract: which DDL statements of a source get into the trail, and how."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from airflow_ddlrepl.config.base.section import YesNo
from airflow_ddlrepl.config.goldengate.clauses import NamePattern
from airflow_ddlrepl.config.goldengate.options import DdlParameters


class ScopeSemantics(StrEnum):
    """How scopes are told apart. consistent: as Replicat does it. literal: by the wording of Extract's description.

    consistent: what can't be mapped is OTHER, what is not listed is UNMAPPED. literal: UNMAPPED is what can't be mapped
    and is not listed, and OTHER is all that remains.
    """

    CONSISTENT = "consistent"
    LITERAL = "literal"


class ExtractParameters(DdlParameters):
    """The parameters of an Extract, as a parameter file has them.

    tables: of TABLE parameters. exclude: of TABLEEXCLUDE. Without `ddl` no DDL statement is captured.
    """

    tables: tuple[NamePattern, ...] = Field((), description='TABLE: patterns "schema.name" with wildcards')
    exclude: tuple[NamePattern, ...] = Field((), description="TABLEEXCLUDE: patterns of names that TABLE leaves out")
    ignore_replicates: YesNo = Field(True, description="IGNOREREPLICATES: leave out DDL that a Replicat has run here")
    add_trandata: YesNo = Field(False, description="DDLOPTIONS ADDTRANDATA: new tables log whole rows")
    scope_semantics: ScopeSemantics = Field(ScopeSemantics.CONSISTENT, description="how scopes are told apart")
