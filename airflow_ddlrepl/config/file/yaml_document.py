"""This module reads a YAML file as plain data, and remembers the line of every key and item."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import yaml

Place = tuple[str | int, ...]
_TEXT, _MERGE, _NUMBER = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "merge", "int"))
_NO_DECIMAL = re.compile(r"[-+]?0[0-9_]|.*:")  # YAML 1.1 takes 010 for 8, and 1:30 for 90
MAX_NODES = 20_000
TOO_LARGE = "too large or too deeply nested for a channel file"


class NotYaml(Exception):
    """This error says that a text is no YAML that can be read; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """A document is the data of one YAML file with the lines that its keys and items are on.

    data: as yaml.safe_load gives it, with keys as they are written. lines: of every key and item.
    duplicates: repeated keys and their lines.
    """

    data: Any
    lines: dict[Place, int]
    duplicates: tuple[tuple[Place, int], ...]

    def line(self, place: Place) -> int:
        """Return the line of the place, or of the nearest thing around it that the file has."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def parse(text: str) -> Document:
    """Read one YAML document with safe_load's semantics. Raises NotYaml."""
    found = _parsed(text)
    return replace(found, data=deepcopy(found.data), lines=dict(found.lines))


@lru_cache(16)
def _parsed(text: str) -> Document:
    """Return the parsed document of a text, cached: a channel is opened often, and parsing takes longest of all."""
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        raise NotYaml(f"not text: {error.reason}", text.count("\n", 0, error.position) + 1) from None
    try:
        node = loader.get_single_node()
        if node is None:
            return Document(None, {}, ())
        walk = _Walk()
        walk.visit(node, (), node.start_mark.line + 1)
        return Document(loader.construct_document(node), walk.lines, tuple(walk.duplicates))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise NotYaml(error.problem or "not valid YAML", mark.line + 1 if mark else 1) from None
    except RecursionError:
        raise NotYaml(TOO_LARGE, 1) from None
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError) as error:  # a date that is none, a tag that does not fit
            message = f"can't be read as {node.tag.rpartition(':')[2]}: write it in quotes"
            raise NotYaml(message, node.start_mark.line + 1) from error


class _Walk:
    def __init__(self) -> None:
        self.lines: dict[Place, int] = {}
        self.duplicates: list[tuple[Place, int]] = []
        self._nodes = 0

    def visit(self, node: yaml.Node, place: Place, line: int) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES or len(place) > 20:
            raise NotYaml(TOO_LARGE, line)
        self.lines[place] = line
        if isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                self.visit(item, (*place, number), item.start_mark.line + 1)
        elif isinstance(node, yaml.MappingNode):
            self._mapping(node, place)
        elif node.tag == _NUMBER and _NO_DECIMAL.match(node.value):
            raise NotYaml("YAML reads no decimal number here: leave out the leading 0 or the colon, or quote it", line)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> None:
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                key.tag = _TEXT  # as it stands there: a schema may be called `no`, or `2024`
            here = (*place, str(key.value))
            line = key.start_mark.line + 1
            if str(key.value) in seen:
                self.duplicates.append((here, line))
            seen.add(str(key.value))
            self.visit(value, here, line)
