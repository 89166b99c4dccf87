"""Which pipeline a channel has is asked in one place, and all that a pipeline names is there."""

from __future__ import annotations

import ast
from inspect import signature
from pathlib import Path

import pytest

from airflow_ddlrepl.flow.pipelines import INTEGRATING, OF_CLIENTS, Pipeline
from airflow_ddlrepl.flow.stages import STAGES, Cycle, found
from tests.house.test_stages import ROOT, sources

ASKING = {"airflow_ddlrepl/flow/pipelines.py": 1}
"""Where `channel.streams` is looked at, and how often; others read `channel.clients`, which is always there."""
READING = Path("airflow_ddlrepl/config/sections/channel.py")
"""The module that defines and checks the section."""
PIPELINES = {"of targets": INTEGRATING, "of clients": OF_CLIENTS}


def asked(text: str) -> list[str]:
    """The expressions of a module that look at the section `streams` of a channel, which may not be there."""
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute) and node.attr == "streams")
    return [ast.unparse(node) for node in nodes]


def compared(text: str) -> list[str]:
    """The comparisons of a module with one of the two pipelines."""
    names = {"INTEGRATING", "OF_CLIENTS"}
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Compare | ast.match_case)]
    return [ast.unparse(one) for one in nodes if names & {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}]


def test_one_place_asks_which_pipeline_a_channel_has() -> None:
    counts = {str(file.relative_to(ROOT)): len(asked(file.read_text(encoding="utf-8"))) for file in sources()}
    assert {file: count for file, count in counts.items() if count and file != str(READING)} == ASKING
    comparing = {str(file.relative_to(ROOT)) for file in sources() if compared(file.read_text(encoding="utf-8"))}
    assert comparing == ASKING.keys()


@pytest.mark.parametrize(
    "text",
    [
        "if run.channel.streams is None: pass",
        "if channel.streams is not None and channel.streams.captures: pass",
        "x = a if channel.streams else b",
        "streams = context.channel.streams",
    ],
)
def test_a_second_place_is_found(text: str) -> None:
    assert asked(text) and not asked(text.replace("streams", "clients"))


@pytest.mark.parametrize("text", ["if pipeline_of(c) is OF_CLIENTS: pass", "x = pipeline is not INTEGRATING"])
def test_a_comparison_with_a_pipeline_is_found(text: str) -> None:
    assert compared(text)


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
def test_what_a_pipeline_names_is_there(pipeline: Pipeline) -> None:
    assert list(signature(found(pipeline.cycle_place)).parameters) == ["run", "until"]
    assert list(signature(found(pipeline.bring_place)).parameters) == ["run", "load"]
    for place in filter(None, (pipeline.require_place, pipeline.deactivate_place)):
        assert list(signature(found(place)).parameters) == ["run"]


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
def test_a_cycle_is_in_order(pipeline: Pipeline) -> None:
    assert [one.cycle for one in pipeline.cycle] == [Cycle.BEGINS, Cycle.WITHIN, Cycle.WITHIN, Cycle.ENDS]


def test_a_stage_of_one_cycle_alone_is_refused_in_the_other() -> None:
    both = set(INTEGRATING.cycle) & set(OF_CLIENTS.cycle)
    assert {one for one in INTEGRATING.cycle if not one.of_targets} == both
    assert {one for one in OF_CLIENTS.cycle if not one.of_clients} == both
    assert not [one.name for one in STAGES.values() if one.of_targets and one.of_clients]
