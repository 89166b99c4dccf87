"""The section `db_sequence` of the channel file, HVR's DbSequence: which sequences the targets have."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import any_matches
from airflow_ddlrepl.notation.section import Section, TablePattern, Whole


class DbSequences(Section):
    """The source's sequences are at the targets, never behind the source's; docs/sequences.md has more.

    `true` is short for all of the channel's, a list for `sequences`.
    """

    sequences: tuple[TablePattern, ...] = Field(
        (),
        description='patterns "schema.sequence"; default: those of the channel\'s tables, and free ones that'
        " `source.tables` matches",
    )
    headroom: Whole = Field(0, ge=0, description="how many numbers a target's sequence is ahead of the source's")

    def names(self, name: TableName) -> bool:
        """Does `sequences` match the sequence?"""
        return any_matches(self.sequences, name)


def _short_form(value: Any) -> Any:
    if value is True:
        return {}
    if value is False:
        return None
    return {"sequences": value} if isinstance(value, str | list | tuple) else value


DbSequence = Annotated[
    DbSequences | None,
    BeforeValidator(_short_form, json_schema_input_type=bool | list[TablePattern] | DbSequences | None),
    Field(description="the targets have the source's sequences; default: they do not"),
]
