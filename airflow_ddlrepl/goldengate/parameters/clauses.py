"""This module defines INCLUDE and EXCLUDE clauses: which DDL statements a parameter is about."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from airflow_ddlrepl.notation.name_pattern import split_name_pattern
from airflow_ddlrepl.notation.section import Section, YesNo, any_case


class DdlScope(StrEnum):
    """A scope says whether names of a statement can be mapped, and are listed; ALL is any of the three."""

    ALL = "ALL"
    MAPPED = "MAPPED"
    UNMAPPED = "UNMAPPED"
    OTHER = "OTHER"


ALL, MAPPED, UNMAPPED, OTHER = DdlScope
"""The scopes, for what is asked of every statement: reading one off its class takes as long as a call (Python 3.11)."""


def _upper(value: object) -> object:
    return " ".join(value.upper().split()) if isinstance(value, str) else value


def _name_pattern(value: str) -> str:
    split_name_pattern(value)
    return value


UpperCase = Annotated[str, BeforeValidator(_upper)]
Scope = Annotated[DdlScope, BeforeValidator(_upper), any_case(DdlScope)]
NamePattern = Annotated[str, AfterValidator(_name_pattern)]


class Clause(Section):
    """A clause is true for a statement when each of its options is; without options it is true for every one."""

    scope: Scope = Field(DdlScope.ALL, description="the scope of the statement: MAPPED, UNMAPPED, OTHER or ALL")
    optype: UpperCase | None = Field(None, description="the operation: CREATE, ALTER, DROP, RENAME, TRUNCATE, …")
    objtype: UpperCase | None = Field(None, description="the type of the object: TABLE, INDEX, TRIGGER, …")
    objname: NamePattern | None = Field(None, description='the base object, "schema.name" with wildcards, or "name"')
    instr: str | None = Field(None, min_length=1, description="text that the command contains, in any case")
    instr_words: tuple[str, ...] | None = Field(None, description="words that the command contains, all of them")
    instr_comments: str | None = Field(None, min_length=1, description="text that a comment contains, in any case")
    instr_comments_words: tuple[str, ...] | None = Field(None, description="words that the comments contain")
    stay_metadata: YesNo = Field(False, description="the table's metadata stays as it is known; EXCLUDE only")

    @property
    def is_all(self) -> bool:
        """Is the clause true for every statement?"""
        return self.model_dump(exclude={"stay_metadata"}) == Clause().model_dump(exclude={"stay_metadata"})


class Filters(Section):
    """The filters of a parameter are its INCLUDE and EXCLUDE clauses; EXCLUDE goes before INCLUDE, in any order."""

    include: tuple[Clause, ...] = Field((), description="one of them has to be true, if there are any")
    exclude: tuple[Clause, ...] = Field((), description="a statement that one of them is true for is discarded")

    @model_validator(mode="after")
    def _includes_something(self) -> Filters:
        if self.exclude and not self.include and not any(clause.is_all for clause in self.exclude):
            raise ValueError("has EXCLUDE clauses only: add INCLUDE ALL, or the INCLUDE clauses that are meant")
        return self


class Substitution(Section):
    """A substitution is a DDLSUBST parameter: text of the command that another text replaces, in any case."""

    search: str = Field(min_length=1, description="the text that is replaced, everywhere in the statement")
    replacement: str = Field(description="the text that comes in its place; empty: none")
    include: tuple[Clause, ...] = Field((), description="one of them has to be true, if there are any")
    exclude: tuple[Clause, ...] = Field((), description="a statement that one of them is true for stays as it is")
