"""How much a new engine has to write: the methods of the ports that have no answer of their own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.engines import Engine, SourceEngine, TargetEngine
from airflow_ddlrepl.engines.numbered_source import NumberedSource
from airflow_ddlrepl.engines.source import EveryTable, Source
from airflow_ddlrepl.engines.source_catalog import SourceCatalog, SourceSnapshot
from airflow_ddlrepl.engines.staging import StagedRows, Stager
from airflow_ddlrepl.engines.target import Loader, Target
from airflow_ddlrepl.model.visibility import SnapshotAt
from airflow_ddlrepl.ports.family_values import FamilyValues
from airflow_ddlrepl.ports.log import LogRange, LogRanges
from airflow_ddlrepl.ports.log_identity import LogIdentity
from airflow_ddlrepl.ports.named_sessions import NamedSessions
from airflow_ddlrepl.ports.positions import Positions
from airflow_ddlrepl.ports.row_evaluator import RowEvaluator
from airflow_ddlrepl.ports.rows import TextRows
from airflow_ddlrepl.ports.server_facts import ServerFacts
from airflow_ddlrepl.ports.source_marks import SourceMarks
from airflow_ddlrepl.ports.types import TypeSystem
from docs.tools import product_code

pytestmark = pytest.mark.xdist_group("product_read")  # one process reads the product, not each

ENGINES = Path(__file__).parents[2] / "airflow_ddlrepl" / "engines"
TARGET = (*(Engine, TargetEngine, Target, Loader, Stager, StagedRows, RowEvaluator, ServerFacts, Renderer, TypeSystem),)
"""The ports of an engine that has targets, and no ability besides."""
SOURCE = (
    *(Engine, SourceEngine, Source, SourceCatalog, SourceSnapshot, LogRange, TextRows),
    *(LogRanges, SnapshotAt, FamilyValues, EveryTable, NamedSessions, SourceMarks, LogIdentity, Positions),
)
"""The ports of an engine that has sources, and no ability besides.

Of a few ports the core has a class that any source may take as it is: those are counted, as they stand in place of the
ports `RowSource`, `LogReading`, `Visibility`, `ChangeValues` and `Membership`.
"""
FOLDERS = (
    *("apply_lcrs", "catalog", "compare", "connection", "ddl", "load", "log", "maintenance", "merge"),
    *("owners", "pgoutput"),
    *("rest", "sequences", "sessions", "source", "sync_capture", "target", "types"),
)
"""The folders of PostgreSQL's engine; what another engine has of them has the same name."""


def to_write(port: type) -> list[str]:
    """Names of the methods of a port that an engine has to write: abstract ones, and those without a body."""
    path = port.__module__.replace(".", "/")
    (module,) = (one for one in product_code.modules() if one.name in (f"{path}.py", f"{path}/__init__.py"))
    (node,) = (one for one in module.nodes(ast.ClassDef) if one.name == port.__qualname__)
    found = []
    for one in node.body:
        if isinstance(one, ast.FunctionDef):
            last = one.body[-1]
            value = last.value if isinstance(last, ast.Expr) else None
            is_empty = isinstance(value, ast.Constant) and (value.value is ... or len(one.body) == 1)
            found += [f"{port.__name__}.{one.name}"] if is_empty else []
    return found


def test_a_target_writes_few_methods() -> None:
    assert len([name for port in TARGET for name in to_write(port)]) <= 25


def test_a_source_writes_few_methods() -> None:
    assert len([name for port in SOURCE for name in to_write(port)]) <= 15


def test_a_source_without_ids_writes_no_more() -> None:
    numbered = to_write(NumberedSource)
    answered = {f"Source.{name}" for name in vars(NumberedSource)} | set(to_write(SourceCatalog))
    left = [name for port in SOURCE for name in to_write(port) if name not in answered]
    assert numbered and len([*left, *numbered]) <= 15


@pytest.mark.parametrize("folder", sorted(one.name for one in ENGINES.iterdir() if (one / "engine.py").exists()))
def test_the_folders_of_an_engine_are_named_as_those_of_others(folder: str) -> None:
    inside = {one.name for one in (ENGINES / folder).iterdir() if (one / "__init__.py").exists()}
    assert inside <= set(FOLDERS), "another name makes the reader of a second engine search"
