"""What the documentation names exists, and the commands of the README are real."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
TOP = ("airflow_ddlrepl", "dags", "spark_apps", "tests", "docs", "benchmarks", ".ci")
NAMED = re.compile(r"`([A-Za-z_.][\w./-]*/[\w./-]*)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
MODULE = re.compile(r"\bairflow_ddlrepl(?:\.\w+)+\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = {m for m in NAMED.findall(page.read_text(encoding="utf-8")) if m.startswith(TOP)}
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tests_that_a_page_names_exist(page: Path) -> None:
    named = set(TEST.findall(page.read_text(encoding="utf-8")))
    assert [(file, test) for file, test in named if f"def {test}(" not in (ROOT / file).read_text()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_and_classes_that_a_page_names_exist(page: Path) -> None:
    for name in set(MODULE.findall(page.read_text(encoding="utf-8"))):
        parts = name.split(".")[1:]
        parts = parts if parts[0] not in ("dags", "spark_apps") else []
        place = ROOT / "airflow_ddlrepl"
        while parts and (place / parts[0]).is_dir():
            place /= parts.pop(0)
        if not parts:
            continue
        file = place / f"{parts[0]}.py"
        assert file.is_file() or parts[0] in (place / "__init__.py").read_text(), f"{page.name}: {name}"
        assert len(parts) < 2 or re.search(rf"\b{parts[1]}\b", file.read_text()), f"{page.name}: {name}"


def test_the_page_of_the_tests_names_every_folder_of_theirs() -> None:
    page = (ROOT / "docs/testing.md").read_text(encoding="utf-8")
    folders = {p.parent for p in (ROOT / "tests").rglob("test_*.py")}
    assert [name for p in sorted(folders) if (name := topmost(p)) and f"`{name}`" not in page] == []


def topmost(folder: Path) -> str:
    """The folder itself below tests/flow, elsewhere the one directly below tests/."""
    parts = folder.relative_to(ROOT).parts
    return "/".join(parts[: 3 if parts[1] == "flow" else 2])


def test_the_site_has_every_page_in_its_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = re.findall(r": ([\w/]+\.md)$", menu, re.MULTILINE)
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(set(pages) - set(named)) == []


def commands(text: str) -> list[str]:
    """Lines of the page's shell blocks."""
    blocks = re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL)
    lines = [line for kind, block in blocks if kind in ("", "sh", "bash", "console") for line in block.splitlines()]
    return [line.strip().removeprefix("$ ") for line in lines if line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_and_ddlrepl_commands_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    from typer.main import get_command

    from airflow_ddlrepl.cli.app import app

    known = set(get_command(app).commands)  # type: ignore[attr-defined]
    for line in commands(page.read_text(encoding="utf-8")):
        words = line.split("#")[0].split()
        if words[:1] == ["make"]:
            assert set(words[1:]) <= targets, f"{page.name}: {line}"
        if words and words[0].endswith("ddlrepl") and len(words) > 1 and not words[1].startswith("-"):
            assert words[1] in known, f"{page.name}: {line}"


def test_make_help_lists_the_targets() -> None:
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60).stdout
    for target in ("setup", "demo", "test", "dist", "bench", "requirements"):
        assert f"make {target} " in told


def test_the_wheel_that_the_readme_installs_has_this_version() -> None:
    from airflow_ddlrepl import __version__

    named = set(re.findall(r"airflow_ddlrepl-([^-]+)-py3-none-any\.whl", (ROOT / "README.md").read_text()))
    assert named == {__version__}
