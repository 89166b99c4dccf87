"""This module defines the options of TABLE and MAP about rows: which changes go on, and which columns they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, Field

from airflow_ddlrepl.model.names import MAX_NAME_BYTES
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.notation.condition.parser import condition, expression, spelled
from airflow_ddlrepl.notation.row_kind import AnyRowKind
from airflow_ddlrepl.notation.section import Section, YesNo


def _name(value: str) -> str:
    if not 0 < len(value.encode()) <= MAX_NAME_BYTES or "\0" in value:
        raise ValueError(f"{value!r} can be no column's name")
    return value


def _read_by(read: Callable[[str], Part]) -> AfterValidator:
    return AfterValidator(lambda value: spelled(read(value)) if value else value)


ColumnName = Annotated[str, AfterValidator(_name)]
Condition = Annotated[str, _read_by(condition)]
Expression = Annotated[str, Field(min_length=1), _read_by(expression)]


class RowOptions(Section):
    """The options that TABLE and MAP share."""

    condition: Condition = Field("", description="WHERE and FILTER: which rows go on, as in `restrict`")
    ignore: tuple[AnyRowKind, ...] = Field((), description="IGNOREINSERTS …: INSERT, UPDATE, DELETE, TRUNCATE")


class ColumnMap(Section):
    """COLMAP gives columns of the target their values: a column of the source, a constant, or a value of the change."""

    use_defaults: YesNo = Field(False, description="USEDEFAULTS: columns that are not listed come from their namesakes")
    columns: dict[ColumnName, Expression] = Field(
        {}, description="column at the target: expression as in `target_tables`, over the source's columns"
    )
