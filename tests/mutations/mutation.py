"""A mutation is a behaviour of the product switched off in one file, and the requirements whose tests must then fail.

The YAML files of this folder list them, by chapter. One entry:

    - name: comments are stripped before the trail
      file: airflow_ddlrepl/goldengate/pipeline.py
      find: text as written
      replace: text without comments
      ids: [GG-E-19]

A behaviour that no requirement is about names tests, or their files, one of which must fail:
`tests: [tests/flow/admin/test_lag.py]`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


class Stale(Exception):
    """The text that a mutation replaces is not in its file, or more than once."""


@dataclass(frozen=True)
class Mutation:
    """name: the behaviour without which the product runs; ids: requirements whose tests must fail; tests: one must."""

    name: str
    file: str
    find: str
    replace: str
    ids: tuple[str, ...] = ()
    chapter: str = ""
    tests: tuple[str, ...] = ()

    @property
    def proofs(self) -> tuple[str, ...]:
        """What a failing test must show: each requirement, and the mutation itself where it names tests."""
        return (*self.ids, *([self.name] if self.tests else ()))

    def applied(self, text: str) -> str:
        """Return the text of the file with the behaviour switched off. Raises Stale."""
        count = text.count(self.find)
        if count != 1:
            raise Stale(f"{self.chapter}: {self.name}: its text is {count} times in {self.file}, not once")
        return text.replace(self.find, self.replace)


@cache
def mutations() -> tuple[Mutation, ...]:
    """All mutations, in the order of the files."""
    found = []
    for file in sorted(Path(__file__).parent.glob("*.yaml")):
        for entry in yaml.safe_load(file.read_text(encoding="utf-8")):
            ids, tests = tuple(entry.pop("ids", ())), tuple(entry.pop("tests", ()))
            found.append(Mutation(ids=ids, tests=tests, chapter=file.stem, **entry))
    return tuple(found)


def chosen(words: Iterable[str]) -> list[Mutation]:
    """Mutations whose chapter or ID is among the words, or whose name has one in it; all where there is no word."""
    words = list(words)
    return [
        one
        for one in mutations()
        if not words or any(word == one.chapter or word in one.ids or word in one.name for word in words)
    ]
