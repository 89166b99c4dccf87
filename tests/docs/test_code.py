"""The code in the documentation is real: channel files load, commands have these options, SQL and Python parse."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlglot
import yaml
from typer.main import get_command

from airflow_ddlrepl.cli.app import app
from airflow_ddlrepl.config.file.load import load_channel

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?<=\n\n)((?:    [^\n]*\n|\n)*    [^\n]*\n)")
_SPAN = re.compile(r"`((?:airflow )?ddlrepl [a-z][^`\n]*)`")
SIDE_BY_SIDE = "# there.yml"
"""Two channel files beside each other are no YAML together."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.text.strip().splitlines()[0][:40]}"


@cache
def blocks(*languages: str) -> list[Block]:
    found = []
    for page in PAGES:
        for _, language, text in _FENCE.findall(page.read_text(encoding="utf-8")):
            if language in languages:
                found.append(Block(page, language, textwrap.dedent(text)))
    return found


# --- channel files ---


PARAMETER_FILES = {
    "extract.prm": "EXTRACT e\nTABLE public.*;\n",
    "replicat.prm": "REPLICAT r\nMAP public.*, TARGET public.*;\n",
}
"""What stands in the parameter files that channel files of pages name."""


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_channel_files_load(block: Block, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in re.findall(r"\$\{(\w+)\}", block.text):
        monkeypatch.setenv(variable, "value")
    (tmp_path / "dirprm").mkdir()
    for name, text in PARAMETER_FILES.items():
        (tmp_path / "dirprm" / name).write_text(text)
    is_two = block.text.startswith(SIDE_BY_SIDE)
    for text in beside(block.text) if is_two else [completed(yaml.safe_load(block.text))]:
        (tmp_path / "channel.yaml").write_text(text)
        load_channel(tmp_path / "channel.yaml")


def beside(text: str) -> Iterator[str]:
    """The left and the right half of lines."""
    lines = text.splitlines()
    middle = lines[0].index("# ", 2)
    yield "\n".join(line[:middle] for line in lines)
    yield "\n".join(line[middle:] for line in lines)


def completed(data: Any) -> str:
    """A channel file with a part of one, which a page shows."""
    if isinstance(data, list):
        data = {"streams": {"calls": data}}
    if set(data) & {"maps", "errors"} and "source" not in data:
        data = {"targets": [{"replicat": data}]}
    base: dict[str, Any] = {"channel": "shop", "source": {"location": "shop_db", "tables": ["*.*"]}}
    base |= {key: value for key, value in data.items() if key != "source"}
    base["source"] = {**base["source"], **data.get("source", {})}
    if "streams" not in data:
        entries = [one for key, found in data.items() if isinstance(found, list) and key != "targets" for one in found]
        named = [name for one in entries for name in targets_of(one)]
        base.setdefault("targets", [{"name": name} for name in named] or [{}])
    for n, target in enumerate(base.get("targets", ())):
        target.setdefault("name", f"target{n}")
        target.setdefault("location", f"target{n}_db")
    return yaml.safe_dump(base, sort_keys=False)


def targets_of(entry: Any) -> list[str]:
    """The targets that an entry names, also one that is written as a line."""
    if isinstance(entry, str):
        return re.findall(r"Targets=(\w+)", entry)
    found = entry.get("targets", []) if isinstance(entry, dict) else []
    return [found] if isinstance(found, str) else found


# --- commands ---

SESSION = re.compile(r"ddlrepl \w+ shop 7")
"""The name of a session at a server is no command."""


def command_lines(page: Path) -> list[str]:
    """The commands of ddlrepl in a page's blocks, and those in its text."""
    text = page.read_text(encoding="utf-8")
    shells = [block.text for block in blocks("sh", "bash", "console") if block.page == page]
    written = [*shells, *_INDENTED.findall(_FENCE.sub("", text))]
    lines = [line.strip().removeprefix("$ ") for one in written for line in one.replace("\\\n", " ").splitlines()]
    ours = [line.removeprefix("airflow ") for line in lines]
    spans = [span.removeprefix("airflow ") for span in _SPAN.findall(_FENCE.sub("", text))]
    return [line for line in (*ours, *spans) if re.match(r"ddlrepl [a-z]", line) and not SESSION.fullmatch(line)]


@cache
def commands() -> Any:
    return get_command(app)


LINES = [(page, line) for page in PAGES for line in command_lines(page)]


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{p.name}:{line}" for p, line in LINES])
def test_commands_have_these_options_and_arguments(page: Path, line: str) -> None:
    command: Any = commands()
    words = shlex.split(line, comments=True)[1:]
    while words and hasattr(command, "commands"):
        assert words[0] in command.commands or "list" in command.commands, f"{page.name}: {line}"
        command = command.commands[words.pop(0) if words[0] in command.commands else "list"]
    if hasattr(command, "commands"):
        return
    options = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    given = 0
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            given += word not in ("…", "|")
            continue
        name, _, value = word.partition("=")
        assert name in options and name.startswith("-"), f"{page.name}: {line}: no option {name}"
        if not options[name].is_flag and not value and words:
            words.pop(0)
    most = 99 if any(one.nargs == -1 for one in arguments) else len(arguments)
    assert given <= most, f"{page.name}: {line}: too many arguments"


def test_commands_are_found() -> None:
    assert len(LINES) > 100
    assert {"README.md", "operations.md", "rewind.md"} <= {page.name for page, _ in LINES}


# --- SQL and Python ---


@pytest.fixture(scope="module")
def connection(pg18: Any) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(pg18.create_database("documented")) as found:
        yield found
    pg18.drop_database("documented")


@pytest.mark.parametrize("block", blocks("sql"), ids=str)
def test_sql_can_be_parsed_by_a_server(block: Block, connection: psycopg.Connection[Any]) -> None:
    parse_sql(block.text, connection)


@pytest.mark.parametrize("block", blocks("sparksql"), ids=str)
def test_sql_of_spark_can_be_parsed(block: Block) -> None:
    assert all(sqlglot.parse(block.text, dialect="spark"))


def test_sql_that_can_not_be_parsed_is_found(connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.SyntaxError):
        parse_sql("GRANT SELEKT TO somebody WITH;", connection)


def parse_sql(text: str, connection: psycopg.Connection[Any]) -> None:
    """PL/pgSQL parses the statements of a branch that is never taken."""
    statements = text.strip() if text.strip().endswith(";") or "--" in text.splitlines()[-1] else f"{text.strip()};"
    with connection.transaction(force_rollback=True):
        connection.execute(f"DO $documented$ BEGIN IF false THEN\n{statements}\nEND IF; END $documented$")  # type: ignore[arg-type]


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_python_can_be_parsed_and_imports_what_exists(block: Block) -> None:
    is_decorator = block.text.strip().splitlines()[-1].startswith("@")
    for node in ast.walk(ast.parse(block.text + ("def decorated(): ..." if is_decorator else ""))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("airflow_ddlrepl"):
            module = import_module(str(node.module))
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []
