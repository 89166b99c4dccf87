"""This module defines what a condition's variables stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.condition.members import DDL, ROW


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable is an LCR or a user message. lcr: `row` or `ddl`; empty for a message, whose type has `fields`."""

    lcr: str = ""
    type: str = ""
    fields: Mapping[str, Kind] = field(default_factory=dict)


Variables = Mapping[str, Variable]
LCR_VARIABLES: Variables = {"dml": Variable(ROW), "ddl": Variable(DDL)}
"""The variables of Oracle's evaluation context for LCRs, SYS.STREAMS$_EVALUATION_CONTEXT."""
