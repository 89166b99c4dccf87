"""This module defines the parameters that Extract and Replicat share: DDL, DDLSUBST and REMOVECOMMENTS."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from airflow_ddlrepl.goldengate.parameters.clauses import Filters, Substitution
from airflow_ddlrepl.notation.section import Section, YesNo


class RemoveComments(StrEnum):
    """When comments leave a statement: BEFORE the filters see it, or AFTER its text has been substituted."""

    BEFORE = "before"
    AFTER = "after"


BEFORE, AFTER = RemoveComments


class DdlParameters(Section):
    """The parameters that both sides have."""

    ddl: Filters | None = Field(None, description="DDL: INCLUDE and EXCLUDE clauses; {}: every statement")
    substitutions: tuple[Substitution, ...] = Field((), description="DDLSUBST, in the order of the file")
    remove_comments: tuple[RemoveComments, ...] = Field((), description="DDLOPTIONS REMOVECOMMENTS before, after")
    exclude_wildcard_objects_only: YesNo = Field(
        False,
        description="EXCLUDEWILDCARDOBJECTSONLY: patterns of `exclude` leave out no table named in full",
    )
