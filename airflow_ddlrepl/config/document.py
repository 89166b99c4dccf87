"""A YAML file as plain data that still knows on which line everything stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

Place = tuple[str | int, ...]
MAX_NODES = 20_000
TOO_LARGE = "too large or too deeply nested for a channel file"


class NotYaml(Exception):
    """The text can't be read at all; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """data: as yaml.safe_load gives it. lines: of every key and item. duplicates: repeated keys and their lines."""

    data: Any
    lines: dict[Place, int]
    duplicates: tuple[tuple[Place, int], ...]

    def line(self, place: Place) -> int:
        """Line of the place, or of the nearest thing around it that stands in the file."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def parse(text: str) -> Document:
    """Read one YAML document with safe_load's semantics. Raises NotYaml."""
    try:
        loader = yaml.SafeLoader(text)
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
    except ValueError as error:
        raise NotYaml(str(error), 1) from None
    except RecursionError:
        raise NotYaml(TOO_LARGE, 1) from None
    finally:
        loader.dispose()


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

    def _mapping(self, node: yaml.MappingNode, place: Place) -> None:
        seen: set[str] = set()
        for key, value in node.value:
            here = (*place, str(key.value))
            line = key.start_mark.line + 1
            if str(key.value) in seen:
                self.duplicates.append((here, line))
            seen.add(str(key.value))
            self.visit(value, here, line)
