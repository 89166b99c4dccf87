"""This module defines the section `streams` of a channel file: clients of Oracle Streams, queues and functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import Field, field_validator, model_validator

from airflow_ddlrepl.config.sections.places import Place
from airflow_ddlrepl.ddl.sql.statement_code import Code
from airflow_ddlrepl.notation.section import Seconds
from airflow_ddlrepl.streams.calls.procedure import Procedure, StreamsType
from airflow_ddlrepl.streams.calls.section import StreamsParameters

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*|sql:.+")


class ApplyTarget(Place):
    """A database that an apply process writes to, transaction by transaction."""

    apply: str = Field(min_length=1, description="the name of the apply process, as the calls have it")
    code: tuple[Code, ...] = Field(
        (), description="which statements with code or rights of the source's users run there; others are left out"
    )
    run_as: dict[str, str] = Field(
        {}, description="schema: role that makes such objects there; default: the schema's owner, unless a superuser"
    )

    @model_validator(mode="before")
    @classmethod
    def _applies_in_every_run(cls, value: Any) -> Any:
        if isinstance(value, dict) and "apply_every" in value:
            raise ValueError(
                "apply_every is for the section `targets`: an apply process applies what is in its queue whenever it"
                " runs; start it less often by a schedule of its own (docs/streams.md)"
            )
        return value

    @property
    def part(self) -> str:
        """Return the part of the stage `apply` that is about this target, in words."""
        return f"target {self.name}"


class Streams(StreamsParameters):
    """Clients of Oracle Streams: the calls that make them, their queues, and what their rules may call."""

    targets: tuple[ApplyTarget, ...] = Field((), description="the databases that apply processes write to")
    queues: dict[str, str] = Field(
        {}, repr=False, description="queue: URL or path of its messages; default: the trail's"
    )
    source_database: str | None = Field(
        None, min_length=1, description="the source's name in rules; default: that of its database"
    )
    functions: dict[str, str] = Field(
        {}, description="what rules and handlers may call, by the name that they use: package.module:function"
    )
    function_seconds: Seconds = Field(60, ge=1, le=86400, description="how long one call of a rule's function may take")

    @field_validator("functions")
    @classmethod
    def _are_places(cls, value: dict[str, str]) -> dict[str, str]:
        for name, place in value.items():
            if not _FUNCTION.fullmatch(place):
                raise ValueError(f"{name}: {place!r} is no place of a function: write package.module:function")
        return value

    @property
    def is_empty(self) -> bool:
        """Return whether there are neither clients nor targets."""
        return not (self.calls or self.targets)

    @property
    def captures(self) -> bool:
        """Return whether a capture process reads the source's log by rules."""
        return next(self._capture_calls(), None) is not None

    @property
    def capture_name(self) -> str:
        """Return the name that the calls give to the capture process; empty where they leave it to the product."""
        names = (getattr(one, "capture_name", getattr(one, "streams_name", None)) for one in self._capture_calls())
        return next((name for name in names if name), "")

    def _capture_calls(self) -> Iterator[Procedure]:
        for one in self.calls:
            if one.name == "create_capture" or getattr(one, "streams_type", None) == StreamsType.CAPTURE:
                yield one

    def subset_tables(self) -> Iterator[str]:
        """Yield the tables that subset rules are about: their old rows have to be in the log as a whole."""
        for one in self.calls:
            if one.name in ("add_subset_rules", "add_subset_propagation_rules"):
                yield one.table_name  # type: ignore[attr-defined]
