"""This module defines the section `adapt_ddl`: AdaptDDL actions decide what happens when a table's shape changes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from airflow_ddlrepl.config.sections.policies import (
    AskBefore,
    OnAddColumnWithDefault,
    OnDropTable,
    OnEnrollBreak,
    OnPreserveAlterTableFail,
)
from airflow_ddlrepl.hvr.action_text import read_action, write_action
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import is_pattern, matches_name, matches_new_table, split_name_pattern
from airflow_ddlrepl.notation.refresh_options import read_options
from airflow_ddlrepl.notation.section import Section, YesNo, any_case


class AdaptAction(Section):
    """An AdaptDDL action sets policies; those that it leaves out are decided by other actions, then by `defaults`.

    It may also be written as one line of text: "AddTablePattern=t*, IgnoreTablePattern=tmp*, KeepExistingStructure".

    add_table_pattern, ignore_table_pattern, capture_schema, integrate_schema and on_drop_table act at the source,
    the others at a target. An action in the channel's own list acts on both sides.
    """

    table: str = Field("*", description="tables the action is for: a pattern for the name, or for schema.name")
    add_table_pattern: str | None = Field(
        None, description="new tables with a matching name join the channel: * ? [a-f] |"
    )
    ignore_table_pattern: str | None = Field(None, description="names that this action's add_table_pattern leaves out")
    capture_schema: str | None = Field(None, description="the only schema whose new tables join by add_table_pattern")
    integrate_schema: str | None = Field(
        None,
        min_length=1,
        description="the schema at the targets for tables that join from capture_schema",
    )
    on_enroll_break: Annotated[OnEnrollBreak, any_case(OnEnrollBreak)] | None = Field(
        None, description="what happens when a change breaks a table's enroll information, for example a type change"
    )
    on_add_column_with_default: Annotated[OnAddColumnWithDefault, any_case(OnAddColumnWithDefault)] | None = Field(
        None, description="which values existing rows get in a new column with a default"
    )
    on_preserve_alter_table_fail: Annotated[OnPreserveAlterTableFail, any_case(OnPreserveAlterTableFail)] | None = (
        Field(None, description="what happens when the target refuses to alter an existing table")
    )
    on_drop_table: Annotated[OnDropTable, any_case(OnDropTable)] | None = Field(
        None, description="what happens when the source drops a table of the channel"
    )
    keep_existing_structure: YesNo | None = Field(None, description="the target never drops or narrows a column")
    keep_old_rows: YesNo | None = Field(None, description="a refresh leaves rows that only the target has")
    refresh_options: str | None = Field(
        None,
        description="how a refresh after a schema change is done: `-gb` in bulk, `-gr -v -f -m…` row by row",
    )

    @model_validator(mode="after")
    def _capture_schema_is_a_name(self) -> AdaptAction:
        if self.capture_schema is not None and is_pattern(self.capture_schema):
            raise ValueError("capture_schema is one schema's name, not a pattern: write one action per schema")
        if self.integrate_schema is not None and self.capture_schema is None:
            raise ValueError("integrate_schema says where tables of capture_schema go: name that, too")
        return self

    def adds(self, name: TableName) -> bool:
        """Return whether the action adds a new table of that name; without capture_schema, in any schema."""
        pattern = self.add_table_pattern
        return pattern is not None and matches_new_table(name, pattern, self.ignore_table_pattern, self.capture_schema)

    @field_validator("table")
    @classmethod
    def _table_is_a_pattern(cls, value: str) -> str:
        split_name_pattern(value)
        return value

    @field_validator("refresh_options")
    @classmethod
    def _options_are_known(cls, value: str | None) -> str | None:
        if value is not None:
            read_options(value)
        return value

    def is_for(self, name: TableName) -> bool:
        """Return whether the action is for this table."""
        return matches_name(self.table, name)

    def text(self) -> str:
        """Return the action as one line of text, which a channel file may contain in its place."""
        return write_action(self.model_dump(exclude_defaults=True))


def _from_text(value: Any) -> Any:
    return read_action(value) if isinstance(value, str) else value


AsksBefore = Annotated[
    tuple[Annotated[AskBefore, any_case(AskBefore)], ...],
    Field(description="drop_column, narrow, drop_table: a target waits for a person before such a change (a control)"),
]
Action = Annotated[AdaptAction, BeforeValidator(_from_text, json_schema_input_type=AdaptAction | str)]
