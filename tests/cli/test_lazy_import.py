"""A command imports what it works with: its help neither configuration nor databases, a status no rows and no Spark."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.command import lazily, put_off
from tests.cli.conftest import Init
from tests.support.replica import Replica

IMPORTS = """
import atexit, json, sys

def imported():
    from airflow_ddlrepl.cli.command import Waiting
    names = [name for name, module in sys.modules.items() if not isinstance(module, Waiting)]
    open(sys.argv[1], "w").write(json.dumps(names))

atexit.register(imported)
from airflow_ddlrepl.cli import main
main(sys.argv[2:])
"""
ROWS = {"numpy", "pandas", "pyarrow"}
DATABASES = {"adbc_driver_postgresql", "alembic", "duckdb", "psycopg", "pyiceberg", "sqlalchemy"}
SHELLS = {"airflow", "lark", "pendulum", "py4j", "pyspark", "sqlglot"}
OTHER_WORK = {
    "airflow_ddlrepl.engines.postgres.ddl.render",
    "airflow_ddlrepl.flow.cycle.replicate",
    "airflow_ddlrepl.streams.calls.rule_procedures",
    "airflow_ddlrepl.streams.rules.client",
}


def imported(folder: Path, *arguments: str | Path) -> set[str]:
    """The modules that a command has imported when it ends, in a process of its own."""
    found = folder / "imported.json"
    subprocess.run([sys.executable, "-c", IMPORTS, found, *arguments], check=True, capture_output=True)
    return set(json.loads(found.read_text()))


def test_help_imports_no_configuration_and_no_database(tmp_path: Path) -> None:
    names = imported(tmp_path, "--help")
    assert names & (ROWS | DATABASES | SHELLS | {"pydantic", "yaml"}) == set()
    assert not any(name.startswith("airflow_ddlrepl.flow") for name in names)


def test_a_status_imports_what_it_asks(init: Init, replica: Replica, tmp_path: Path) -> None:
    replica.at_source("create table t (id int primary key)", "insert into t values (1)")
    init()
    replica.activate()
    names = imported(tmp_path, "status", replica.file)
    assert names & (ROWS | SHELLS | OTHER_WORK | {"adbc_driver_postgresql", "alembic", "duckdb", "fsspec"}) == set()
    assert not any(name.startswith("airflow_ddlrepl.flow.streams.") for name in names)


def test_a_check_connects_to_nothing(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(
        "channel: shop\n"
        "source: {location: 'postgresql://h/a', tables: ['public.*']}\n"
        "targets: [{name: w, location: 'postgresql://h/b'}]\n"
    )
    assert imported(tmp_path, "check", file) & (ROWS | SHELLS | {"alembic", "psycopg"}) == set()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with two parts, none of them imported. Its name."""
    folder = tmp_path / "slow_rows"
    folder.mkdir()
    (folder / "__init__.py").write_text("VERSION = 1\nfrom slow_rows.inner import INNER\n")
    (folder / "inner.py").write_text("import slow_rows\nINNER = slow_rows.VERSION + 1\n")
    (folder / "part.py").write_text("import slow_rows\nPART = slow_rows.INNER + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("slow_rows", "slow_rows.inner", "slow_rows.part", "broken_rows"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "slow_rows"


def test_a_module_waits_until_a_name_of_it_is_asked_for(package: str) -> None:
    put_off(package, f"{package}.part")
    import slow_rows  # type: ignore[import-not-found]
    import slow_rows.part as part  # type: ignore[import-not-found]

    assert "slow_rows.inner" not in sys.modules
    assert part.PART == 3
    assert type(part) is type(slow_rows) is ModuleType
    assert slow_rows.INNER == 2
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = slow_rows.other


def test_importing_another_part_runs_the_package(package: str) -> None:
    whole = lazily(package)
    import_module("slow_rows.inner")
    assert type(whole) is ModuleType
    assert whole.VERSION == 1


def test_what_is_not_installed_fails_where_it_is_imported(package: str, tmp_path: Path) -> None:
    put_off("no_such_rows", "no_such_rows.part")
    with pytest.raises(ModuleNotFoundError, match="no_such_rows"):
        import_module("no_such_rows.part")
    (tmp_path / "broken_rows.py").write_text("import no_such_rows\n")
    broken = lazily("broken_rows")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_rows"):
            _ = broken.anything


def test_the_names_of_the_flow_are_where_a_type_checker_reads_them() -> None:
    tree = ast.parse(Path(str(flow.__file__)).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    read: dict[str, str] = {}
    for node in block.body:
        package, _, place = str(getattr(node, "module", "")).partition("airflow_ddlrepl.flow")
        if isinstance(node, ast.ImportFrom) and not package:
            read |= {one.asname or one.name: f"{place[1:]}:{one.name}".lstrip(":") for one in node.names}
    assert read == flow.PLACES
    assert {*flow.__all__} == {*read, "RunContext", "open_channel"}
    for name in flow.__all__:
        assert callable(getattr(flow, name)) or name == "by_arguments"
