"""A section of the README as what a user does: files to write and commands to type, in its order."""

from __future__ import annotations

import re
import subprocess
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
SECTION = "In your own Airflow"
_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"here `(/[^`]+)`")
_EXPORT = re.compile(r"export (\w+)=(\S+)")


@dataclass(frozen=True)
class Block:
    """One fenced block. file: where the text before it says that it goes; empty for commands. step: its number."""

    step: int
    language: str
    text: str
    file: str

    def lines(self) -> list[str]:
        """The commands of a shell block, one per line."""
        return [line for line in self.text.splitlines() if line.strip()]


def blocks(replaced: Mapping[str, str], title: str = SECTION) -> list[Block]:
    """The blocks of a section with a person's own paths and URLs. Every one that is replaced has to occur there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", text.partition(f"## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    absent = [old for old in replaced if old not in section]
    assert not absent, f"the README does not name {absent}"
    for old, new in replaced.items():
        section = section.replace(old, new)
    return list(_blocks(section))


def _blocks(section: str) -> Iterator[Block]:
    end = 0
    for found in _BLOCK.finditer(section):
        before, end = section[end : found.start()], found.end()
        numbers = re.findall(r"^(\d+)\. ", section[: found.start()], re.MULTILINE)
        named = _FILE.findall(before)
        is_file = found[2] in ("yaml", "python")
        assert not is_file or named, f"the README does not say where this goes:\n{found[3]}"
        step = int(numbers[-1]) if numbers else 0
        yield Block(step, found[2], textwrap.dedent(found[3]), named[-1] if is_file else "")


ASSET_TWICE = "idx_asset_name_uri_unique"


class Reader:
    """Does what blocks say: writes the files, types the commands into a shell, keeps what is exported."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)

    def does(self, block: Block) -> dict[str, str]:
        """What each command printed. A command that fails fails the test."""
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text)
            return {}
        return {line: self.types(line) for line in block.lines()}

    def types(self, line: str) -> str:
        """One line, in the folder of the checkout."""
        exported = _EXPORT.fullmatch(line.strip())
        if exported:
            self.environment[exported[1]] = exported[2]
            return ""
        done = self._run(line)
        if done.returncode and ASSET_TWICE in done.stderr:  # the DAG processor wrote the same asset in that moment
            done = self._run(line)
        assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def _run(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line], cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=900
        )
