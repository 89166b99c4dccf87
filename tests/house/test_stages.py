"""A stage is declared once, in flow/stages.py: no second list of names, and all that it names is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import Parameter, signature

import pytest

from airflow_ddlrepl.flow.stages import STAGES, Stage, app_stages
from docs.tools import product_code
from docs.tools.product_code import ROOT, Module

pytestmark = pytest.mark.xdist_group("product_read")  # one process reads the product, not each

TABLE = "airflow_ddlrepl/flow/stages.py"
OTHER_WORDS = {
    "airflow_ddlrepl/config/sections/table_mapping.py": "the conditions of the channel file, by what they are for",
    "airflow_ddlrepl/flow/__init__.py": "the public functions",
    "airflow_ddlrepl/hvr/action_text.py": "the conditions of the channel file, by what they are for",
    "airflow_ddlrepl/hvr/definitions/compile.py": "the conditions of the channel file, by what they are for",
    "airflow_ddlrepl/hvr/profile.py": "what HVR does about a schema change",
    "airflow_ddlrepl/model/settings/stored.py": "the conditions of the channel file, by what they are for",
    "airflow_ddlrepl/plugin/streams_graph.py": "kinds of clients in the picture",
    "airflow_ddlrepl/streams/calls/procedure.py": "kinds of clients in calls of Oracle Streams",
    "airflow_ddlrepl/streams/rules/client.py": "kinds of clients of Oracle Streams",
    "dags/parts/dag.py": "the DAGs of a channel",
}
"""Files where two names of stages stand together and mean something else."""

OPERATORS = {
    "adapt_ddl": ["AdaptDDLOperator"],
    "backfill": ["ReplayOperator"],
    "capture": ["CaptureOperator"],
    "compare": ["CompareOperator", "RepairOperator"],
    "cutover": ["CheckCutOverOperator", "CutOverOperator"],
    "enroll": ["EnrollOperator"],
    "integrate": ["IntegrateOperator"],
    "maintain": ["LakeMaintenanceOperator"],
    "plan": ["PlanOperator"],
    "refresh": ["RefreshOperator", "IsolatedRefreshOperator"],
    "rewind": ["PlanRewindOperator", "RewindOperator"],
    "controls": ["ExplainControlsOperator", "RemoveControlsOperator"],
    "streams.apply": ["ApplyOperator"],
    "streams.propagate": ["PropagateOperator"],
    "streams.sync_capture": ["SyncCaptureOperator"],
    "base": ["DdlReplSparkOperator"],
}
"""What users import from airflow_ddlrepl.operators."""


def sources() -> Iterator[Module]:
    return (one for one in product_code.modules() if one.name != TABLE)


def lists_of_stages(module: Module) -> list[int]:
    """The lines of a module where two names of stages are the items of one value, or the members of a class."""
    values: Iterator[ast.expr] = module.nodes(ast.Tuple, ast.List, ast.Set, ast.Dict)
    nodes: list[ast.expr | ast.stmt] = [*values, *module.nodes(ast.ClassDef)]
    return [node.lineno for node in nodes if len(STAGES.keys() & set(_words(node))) > 1]


def _words(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            found = items
        case ast.Dict(keys=keys, values=values):
            found = [one for one in (*keys, *values) if one is not None]
        case ast.ClassDef(body=body):
            found = [one.value for one in body if isinstance(one, ast.Assign)]
        case _:
            found = []
    return (one.value for one in found if isinstance(one, ast.Constant) and isinstance(one.value, str))


def test_no_second_list_of_stages() -> None:
    found = {one.name for one in sources() if lists_of_stages(one)}
    assert found - OTHER_WORDS.keys() == set(), "read flow/stages.py instead"
    assert OTHER_WORDS.keys() - found == set(), "these are no exceptions any more"


@pytest.mark.parametrize(
    "text",
    [
        'STAGES = ("capture", "adapt")',
        'if name in ["refresh", "integrate", "x"]: pass',
        'x = frozenset({"apply", "propagate"})',
        'WORDS = {"capture": 1, "apply": 2}',
        'KINDS = {1: "refresh", 2: "apply"}',
        'class Stage(Enum):\n    ONE = "capture"\n    TWO = "refresh"',
    ],
)
def test_a_second_list_is_found(text: str) -> None:
    other = text.replace('"capture"', '"x"').replace('"refresh"', '"y"').replace('"apply"', '"z"')
    assert lists_of_stages(Module("planted", text)) and not lists_of_stages(Module("planted", other))


def test_a_function_becomes_a_stage_by_its_row() -> None:
    """A name in the decorator would be a second declaration."""
    named = [
        f"{module.name}:{node.lineno}"
        for module in sources()
        for node in module.nodes(ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id == "stage"
        for one in node.args
        if isinstance(one, ast.Constant)
    ]
    assert named == []


def called(function: ast.FunctionDef) -> set[str]:
    calls = (one.func for one in ast.walk(function) if isinstance(one, ast.Call))
    return {one.id for one in calls if isinstance(one, ast.Name)}


def test_what_asks_runs_no_stage() -> None:
    """A predicate looks, and changes nothing."""
    stages = {one.run.partition(":")[2] for one in STAGES.values()} | {"function"}
    acting = [
        f"{module.name}: {asks.name} calls {call}"
        for module in sources()
        for asks in module.nodes(ast.FunctionDef)
        if asks.name.lstrip("_").startswith(("has_", "is_"))
        for call in called(asks)
        if call in stages
    ]
    assert acting == []


@pytest.mark.parametrize("stage", STAGES.values(), ids=lambda one: one.name)
def test_what_a_row_names_is_there(stage: Stage) -> None:
    parameters = signature(stage.function).parameters
    takes_any = any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
    assert takes_any or {one.name for one in stage.arguments} <= parameters.keys()
    for place in filter(None, (stage.has_work, stage.has_small_work)):
        module, _, name = place.partition(":")
        run, *of = signature(getattr(import_module(f"airflow_ddlrepl.flow.{module}"), name)).parameters
        assert run in ("run", "context") and of == (["of"] if stage.part and place == stage.has_work else [])
    assert not stage.part or stage.part in {one.name for one in stage.arguments}


def test_every_app_is_of_a_stage_and_says_what_it_does() -> None:
    files = {file.stem: file for file in (ROOT / "spark_apps").glob("*.py") if file.stem not in ("__init__", "main")}
    assert files.keys() == {one.app for one in STAGES.values() if one.app}
    for app, file in files.items():
        assert not app_stages(app)[0].app_option
        text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        assert "\nReads " in text and re.search(r"^.*\b[Ww]rites ", text, re.MULTILINE), file
        options = {one.option for stage in app_stages(app) for one in stage.arguments}
        options |= {stage.app_option for stage in app_stages(app) if stage.app_option}
        assert [one for one in options if one not in text] == [], file


@pytest.mark.parametrize("module", OPERATORS)
def test_operators_are_where_users_import_them_from(module: str) -> None:
    there = import_module(f"airflow_ddlrepl.operators.{module}")
    for name in OPERATORS[module]:
        operator = getattr(there, name)
        assert operator.__doc__ and operator.__module__ == there.__name__
        if (stage := getattr(operator, "runs", None)) is not None:
            assert (operator.stage, operator.app) == (stage.name, stage.app)
            assert {one.name for one in stage.arguments} - {"onward"} <= set(operator.template_fields) | {"options"}
