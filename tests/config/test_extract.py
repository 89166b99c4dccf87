"""`source.extract` in a channel file: what is refused, and what is warned about."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.config.file.warnings import warnings
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ConfigError


def read(extract: dict[str, Any], **more: Any) -> Channel:
    source = {"location": "postgresql://a/b", "tables": ["*.*"], "extract": extract}
    target = {"name": "w", "location": "postgresql://c/d"}
    return read_channel(yaml.safe_dump({"channel": "shop", "source": source, "targets": [target], **more}))


def warned(extract: dict[str, Any], **more: Any) -> list[str]:
    """What is said besides that source and target may differ."""
    first, *rest = [line for line in warnings(read(extract, **more)) if line.startswith("source.extract")]
    assert "source and target differ" in first
    return rest


def test_parameters_that_discard_or_change_nothing_are_warned_about() -> None:
    substitutions = [{"search": "a", "replacement": "b"}]
    assert warned({"ddl": {}, "remove_comments": ["after"]}) == []
    assert warned({}) == ["source.extract has no `ddl`: no schema change is captured; `ddl: {}` captures all"]
    (nobody,) = warned({"ddl": {}, "substitutions": substitutions})
    assert "without replay_ddl" in nobody
    assert warned({"ddl": {}, "substitutions": substitutions}, replay_ddl=[{"tables": ["*.*"]}]) == []


@pytest.mark.req("GG-E-43")
def test_before_and_after_together_are_redundant() -> None:
    (found,) = warned({"ddl": {}, "remove_comments": ["before", "after"]})
    assert "`after` is redundant" in found


@pytest.mark.parametrize(
    ("extract", "problem"),
    [
        ({"ddl": {"exclude": [{"objname": "a.*"}]}}, "has EXCLUDE clauses only"),
        ({"ddl": {"include": [{"optyp": "drop"}]}}, "unknown key source.extract.ddl.include\\[0\\].optyp"),
        ({"ddl": {"include": [{"scope": "SOME"}]}}, "source.extract.ddl.include\\[0\\].scope"),
    ],
)
def test_what_is_refused(extract: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        read(extract)
