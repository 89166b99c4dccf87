"""Which pipeline a channel has is asked in one place, and all that a pipeline names is there."""

from __future__ import annotations

import ast
from inspect import signature

import pytest

from airflow_ddlrepl.flow.pipelines import INTEGRATING, OF_CLIENTS, Pipeline
from airflow_ddlrepl.flow.stages import STAGES, Cycle, found
from docs.tools.product_code import Module
from tests.house.test_stages import sources

pytestmark = pytest.mark.xdist_group("product_read")  # one process reads the product, not each

ASKING = {"airflow_ddlrepl/flow/pipelines.py": 1}
"""Where `channel.streams` is looked at, and how often; others read `channel.clients`, which is always there."""
READING = "airflow_ddlrepl/config/sections/channel.py"
"""The module that defines and checks the section."""
PIPELINES = {"of targets": INTEGRATING, "of clients": OF_CLIENTS}


def asked(module: Module) -> list[str]:
    """The expressions of a module that look at the section `streams` of a channel, which may not be there."""
    return [ast.unparse(node) for node in module.nodes(ast.Attribute) if node.attr == "streams"]


def compared(module: Module) -> list[str]:
    """The comparisons of a module with one of the two pipelines."""
    names = {"INTEGRATING", "OF_CLIENTS"}
    nodes = module.nodes(ast.Compare, ast.match_case) if any(name in module.text for name in names) else ()
    return [ast.unparse(one) for one in nodes if names & {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}]


def test_one_place_asks_which_pipeline_a_channel_has() -> None:
    counts = {one.name: len(asked(one)) for one in sources()}
    assert {name: count for name, count in counts.items() if count and name != READING} == ASKING
    assert {one.name for one in sources() if compared(one)} == ASKING.keys()


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
    assert asked(Module("planted", text)) and not asked(Module("planted", text.replace("streams", "clients")))


@pytest.mark.parametrize("text", ["if pipeline_of(c) is OF_CLIENTS: pass", "x = pipeline is not INTEGRATING"])
def test_a_comparison_with_a_pipeline_is_found(text: str) -> None:
    assert compared(Module("planted", text))


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
