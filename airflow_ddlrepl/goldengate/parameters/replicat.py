"""This module defines the parameters of a Replicat: which DDL statements a target runs, with which names."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, PrivateAttr, field_validator, model_validator

from airflow_ddlrepl.ddl.sql.statement_code import EXPRESSIONS, Code
from airflow_ddlrepl.goldengate.parameters.clauses import Clause, NamePattern, UpperCase
from airflow_ddlrepl.goldengate.parameters.options import DdlParameters
from airflow_ddlrepl.goldengate.parameters.rows import ColumnMap, ColumnName, RowOptions
from airflow_ddlrepl.notation.conflict_answers import ConflictSection
from airflow_ddlrepl.notation.name_pattern import is_pattern, split_name_pattern
from airflow_ddlrepl.notation.section import IN_UPPER_CASE, Seconds, Section, Whole, YesNo, any_case

DEFAULT = "DEFAULT"
NO_FURTHER_TARGET = "no MAP gives the table a further TARGET"
"""Why a target for the second TARGET of tables, or a later one, takes nothing of a table that has fewer."""


class ErrorAction(StrEnum):
    """What becomes of a statement that the target refuses: the Replicat ends, or the statement is passed over.

    ABEND: the run fails, and the statement is tried again by the next one. IGNORE: it is reported. DISCARD: it lies
    among the discarded statements.
    """

    ABEND = "ABEND"
    IGNORE = "IGNORE"
    DISCARD = "DISCARD"


Action = Annotated[ErrorAction, IN_UPPER_CASE, any_case(ErrorAction)]


class ErrorRule(Section):
    """A rule of DDLERROR: what becomes of statements that end with this error, where its clauses are true."""

    error: UpperCase = Field(description="the error's code at the target (SQLSTATE), or DEFAULT: any that no rule has")
    action: Action = Field(description="ABEND, IGNORE or DISCARD, when no further try succeeds")
    max_retries: Whole = Field(0, ge=0, description="RETRYOP MAXRETRIES: so often the statement is tried again")
    retry_delay: Seconds = Field(0, ge=0, description="RETRYDELAY: how long to wait before each try")
    include: tuple[Clause, ...] = Field((), description="one of them has to be true, if there are any")
    exclude: tuple[Clause, ...] = Field((), description="the rule is not for a statement that one of them is true for")


class _MapNames(Section):
    source: NamePattern = Field(description='MAP: pattern "schema.name" with wildcards, as at the source')
    target: NamePattern = Field(
        description='TARGET: "schema.name", each part with at most one *, for the whole name at the source'
    )


class MapParameter(RowOptions, _MapNames):
    """A MAP parameter gives tables of the source their names at the target; `*` in a target is the source's whole name.

    Of those that list a table, the first decides about its rows.
    """

    colmap: ColumnMap | None = Field(None, description="COLMAP: which columns the target has, and their values")
    keycols: tuple[ColumnName, ...] = Field((), description="KEYCOLS: columns of the target that identify a row")
    conflicts: ConflictSection | None = Field(
        None, description="RESOLVECONFLICT and COMPARECOLS, with columns of the target"
    )
    insert_all_records: YesNo = Field(False, description="INSERTALLRECORDS: every change is a row of its own")

    @model_validator(mode="after")
    def _has_target_wildcards(self) -> MapParameter:
        source, target = split_name_pattern(self.source), split_name_pattern(self.target)
        if len(source) != 2 or len(target) != 2:
            raise ValueError("MAP and TARGET are both of the form schema.name")
        if any("?" in to or to.count("*") > 1 for to in target):
            raise ValueError(f"TARGET {self.target}: only one * is allowed in each part")
        return self

    @property
    def pattern(self) -> str:
        """Return the pattern of the tables that the parameter lists."""
        return self.source

    @property
    def fills_in_whole_names(self) -> bool:
        """Has a part of TARGET an asterisk where the part of MAP has wildcards, and is not an asterisk alone?"""
        parts = zip(split_name_pattern(self.source), split_name_pattern(self.target), strict=True)
        return any("*" in to and from_ != "*" and is_pattern(from_) for from_, to in parts)

    @property
    def example(self) -> str:
        """Return in words what a table that the parameter lists is called at the target, with `x` for each wildcard."""
        plain = self.source.replace("*", "x").replace("?", "x")
        parts = zip(split_name_pattern(plain), split_name_pattern(self.target), strict=True)
        return f"{plain} becomes {'.'.join(to.replace('*', from_) for from_, to in parts)}"

    @property
    def options(self) -> tuple[object, ...]:
        """Return what the parameter says of its tables' rows."""
        return (
            self.condition,
            frozenset(self.ignore),
            self.colmap,
            self.keycols,
            self.conflicts,
            self.insert_all_records,
        )

    @property
    def label(self) -> str:
        """Return what the parameter is called in a message."""
        return f"MAP {self.source}"


class ReplicatParameters(DdlParameters):
    """The parameters of a Replicat, as a parameter file has them.

    maps: of MAP … TARGET. exclude: of MAPEXCLUDE. Without `ddl` every statement of the trail is
    run; its clauses see names at the target.
    """

    _nth_target: int = PrivateAttr(0)

    maps: tuple[MapParameter, ...] = Field((), description="MAP … TARGET, in the order of the file")
    exclude: tuple[NamePattern, ...] = Field((), description="MAPEXCLUDE: patterns of names that MAP leaves out")
    map_derived: YesNo = Field(True, description="DDLOPTIONS MAPDERIVED: derived names are mapped, too")
    errors: tuple[ErrorRule, ...] = Field((), description="DDLERROR, in the order of the file")
    code: tuple[Code, ...] = Field(
        (),
        description=f"{EXPRESSIONS}; others: such objects are made, and work with its rights",
    )

    @property
    def nth_target(self) -> int:
        """Return which of several TARGETs of a table these parameters are for, from 1 on; 0: all of them."""
        return self._nth_target

    @property
    def is_further(self) -> bool:
        """Are they for the second TARGET of tables, or a later one? Most tables have none then."""
        return self._nth_target > 1

    def for_nth_target(self, number: int) -> ReplicatParameters:
        """Return the same parameters for one of several TARGETs of a table, counted from 1 on."""
        found = self.model_copy()
        found._nth_target = number
        return found

    @field_validator("errors")
    @classmethod
    def _has_one_default(cls, value: tuple[ErrorRule, ...]) -> tuple[ErrorRule, ...]:
        defaults = [rule for rule in value if rule.error == DEFAULT and not rule.include and not rule.exclude]
        if len(defaults) > 1:
            raise ValueError("has DEFAULT more than once: only the first would count")
        return value
