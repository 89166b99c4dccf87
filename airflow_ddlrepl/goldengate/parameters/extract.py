"""This module defines the parameters of an Extract: which DDL statements of a source get into the trail, and how."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from airflow_ddlrepl.goldengate.parameters.clauses import NamePattern
from airflow_ddlrepl.goldengate.parameters.options import DdlParameters
from airflow_ddlrepl.goldengate.parameters.rows import ColumnName, RowOptions
from airflow_ddlrepl.notation.section import Section, YesNo


class ScopeSemantics(StrEnum):
    """How scopes are told apart. consistent: as Replicat does it. literal: by the wording of Extract's description.

    consistent: what can't be mapped is OTHER, what is not listed is UNMAPPED. literal: UNMAPPED is what can't be mapped
    and is not listed, and OTHER is all that remains.
    """

    CONSISTENT = "consistent"
    LITERAL = "literal"


class _TableName(Section):
    table: NamePattern = Field(description='TABLE: pattern "schema.name" with wildcards')


class TableParameter(RowOptions, _TableName):
    """A TABLE parameter lists tables of the source; of those that list a table, the first decides about its rows.

    Without options it may also be written as its pattern alone.
    """

    cols: tuple[ColumnName, ...] = Field((), description="COLS: the columns that go on; default: all")
    cols_except: tuple[ColumnName, ...] = Field((), description="COLSEXCEPT: columns that no target has")

    @model_validator(mode="after")
    def _lists_columns_once(self) -> TableParameter:
        if self.cols and self.cols_except:
            raise ValueError("has COLS and COLSEXCEPT: write one of them")
        return self

    @property
    def pattern(self) -> str:
        """Return the pattern of the tables that the parameter lists."""
        return self.table

    @property
    def label(self) -> str:
        """Return what the parameter is called in a message."""
        return f"TABLE {self.table}"

    @property
    def options(self) -> tuple[object, ...]:
        """Return what the parameter says of its tables' rows."""
        return (self.condition, frozenset(self.ignore), self.cols, self.cols_except)

    @property
    def has_options(self) -> bool:
        """Does the parameter say more than which tables it lists?"""
        return any(self.options)

    @model_serializer(mode="wrap")
    def _as_pattern(self, as_keys: SerializerFunctionWrapHandler) -> Any:
        return as_keys(self) if self.has_options else self.table


ListedTable = Annotated[
    TableParameter,
    BeforeValidator(
        lambda value: {"table": value} if isinstance(value, str) else value,
        json_schema_input_type=TableParameter | str,
    ),
]


class ExtractParameters(DdlParameters):
    """The parameters of an Extract, as a parameter file has them.

    tables: of TABLE parameters. exclude: of TABLEEXCLUDE. Without `ddl` no DDL statement is captured.
    """

    tables: tuple[ListedTable, ...] = Field((), description="TABLE, in the order of the file")
    exclude: tuple[NamePattern, ...] = Field((), description="TABLEEXCLUDE: patterns of names that TABLE leaves out")
    ignore_replicates: YesNo = Field(True, description="IGNOREREPLICATES: leave out DDL that a Replicat has run here")
    add_trandata: YesNo = Field(False, description="DDLOPTIONS ADDTRANDATA: new tables log whole rows")
    scope_semantics: ScopeSemantics = Field(ScopeSemantics.CONSISTENT, description="how scopes are told apart")
