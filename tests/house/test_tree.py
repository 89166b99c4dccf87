"""The house rules that a tool can check: sizes, imports, names, nothing of one machine in the tree."""

from __future__ import annotations

import ast
import configparser
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_FILE, NEAR_THE_LONGEST = 400, 360


def tracked(*suffixes: str) -> list[Path]:
    """Files of the repository: tracked, or new and not ignored; without git (a source archive) all of them."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode == 0:
        names = [ROOT / name for name in listed.stdout.splitlines()]
    else:
        skipped = {".venv", "var", "build", "dist", ".git"}
        names = [p for p in ROOT.rglob("*") if not skipped & set(p.relative_to(ROOT).parts)]
    return [p for p in names if p.is_file() and (not suffixes or p.suffix in suffixes)]


def test_import_contracts_hold() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports")], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout


def test_no_file_is_longer_than_400_lines() -> None:
    """Few files of the product are near that: the next change would have to split them."""
    sizes = {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8").count("\n") for p in tracked(".py", ".sql")}
    assert {name: lines for name, lines in sizes.items() if lines > LONGEST_FILE} == {}
    product = {name: lines for name, lines in sizes.items() if not name.startswith(("tests", "docs", "benchmarks"))}
    assert len([name for name, lines in product.items() if lines > NEAR_THE_LONGEST]) <= 5, "split one of them"


def test_no_folder_of_tests_has_more_than_25_files() -> None:
    sizes = Counter(p.parent.relative_to(ROOT).as_posix() for p in tracked(".py") if p.is_relative_to(ROOT / "tests"))
    assert {folder: files for folder, files in sizes.items() if files > 25} == {}


def test_sql_is_ascii() -> None:
    """With its comments it is sent to databases of any encoding."""
    assert [p.name for p in tracked(".sql") if not p.read_text(encoding="utf-8").isascii()] == []


def test_every_package_is_shipped() -> None:
    """setup.cfg lists the packages by hand, because dags/ and spark_apps/ stand at the top level."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    listed = set(config["options"]["packages"].split())
    folders = {p.parent for p in (ROOT / "airflow_ddlrepl").rglob("*.py") if "__pycache__" not in p.parts}
    there = {".".join(p.relative_to(ROOT).parts) for p in folders}
    top = {p.parent for folder in ("dags", "spark_apps") for p in (ROOT / folder).rglob("*.py")}
    there |= {".".join(("airflow_ddlrepl", *p.relative_to(ROOT).parts)) for p in top if p.name != "__pycache__"}
    assert listed == there
    without = [p for p in folders if not (p / "__init__.py").is_file()]
    assert without == []


def test_a_build_holds_every_module_and_data_file(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    command = [sys.executable, "-c", "from setuptools import setup; setup()", "-q", "build_py", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    built = {str(p.relative_to(tmp_path / "airflow_ddlrepl")) for p in tmp_path.rglob("*") if p.is_file()}
    inside = [str(p.relative_to(ROOT)).removeprefix("airflow_ddlrepl/") for p in tracked() if shipped(p)]
    assert sorted(set(inside) - built) == []


def shipped(file: Path) -> bool:
    return file.relative_to(ROOT).parts[0] in ("airflow_ddlrepl", "dags", "spark_apps")


@pytest.mark.parametrize("folder", ["spark_apps", "airflow_ddlrepl/spark"])
def test_spark_apps_need_no_airflow(folder: str) -> None:
    for file in (ROOT / folder).rglob("*.py"):
        assert "airflow" not in {name.partition(".")[0] for name in imported(file)}, file


def imported(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_importing_the_package_is_light() -> None:
    """Executors import it: no Airflow, no pyspark, no driver."""
    heavy = "{'airflow', 'pyspark', 'psycopg', 'pandas'} & set(sys.modules)"
    modules = "airflow_ddlrepl, airflow_ddlrepl.get_provider_info, airflow_ddlrepl.spark.execute.runner"
    code = f"import sys, {modules}; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "set()", done.stdout + done.stderr


def test_the_help_of_a_command_is_light() -> None:
    """It needs no channel, and so no file is read, and no database."""
    code = (
        "import sys; from airflow_ddlrepl.cli import main\n"
        "try: main(['replicate', '--help'])\n"
        "except SystemExit: print({'sqlalchemy', 'sqlglot', 'pyarrow.lib', 'yaml'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "--until" in done.stdout and done.stdout.splitlines()[-1] == "set()", done.stdout + done.stderr


MACHINE = re.compile(r"(?<![\w.$}])/(?:root|home|work|Users)/[\w.-]+")
REGISTRY = re.compile(r"\b(?:pypi\.org|pythonhosted\.org|repo\d*\.maven\.org|docker\.io|registry\.npmjs\.org)\b")


def test_nothing_of_one_machine_stands_in_the_tree() -> None:
    found = []
    for file in tracked():
        if file == Path(__file__) or file.suffix in (".png", ".svg", ".parquet", ".gz"):
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if MACHINE.search(line) or REGISTRY.search(line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert found == []


@pytest.mark.xdist_group("together")
def test_tests_of_a_group_go_to_one_worker(request: pytest.FixtureRequest) -> None:
    """Where the runner knows no groups any more, sessions and clusters are started again and again."""
    is_grouped = getattr(request.config.option, "loadgroup", False)
    assert request.node.nodeid.endswith("@together") is is_grouped
