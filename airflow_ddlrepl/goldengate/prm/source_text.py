"""Read a parameter file together with the files that it includes, its macros expanded and its comments blanked."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.goldengate.prm.problems import Place, Problem
from airflow_ddlrepl.goldengate.prm.vocabulary.ddl import CLAUSE_WORDS
from airflow_ddlrepl.sql import lexical
from airflow_ddlrepl.sql.languages import ARGUMENTS
from airflow_ddlrepl.sql.tokens import tokens

MAX_TEXT = 32 << 20
MAX_DEPTH = 50
_PARTS = re.compile(
    rf"""
    (?P<quoted>{lexical.IN_LINE})
    | (?P<comment>--[^\n]*|^[ \t]*COMMENT\b[^\n]*)
    | ^[ \t]*MACRO\s+(?P<macro>\#\w+)
    | ^[ \t]*(?:OBEY|INCLUDE)[ \t]+(?!(?:{"|".join(sorted(CLAUSE_WORDS))})\b)(?P<file>[^\s;&]+)[ \t]*;?[ \t]*$
    | (?<![\w$.\#])(?P<call>\#[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_FOREIGN = re.compile("[\udc80-\udcff]")
"""What stands for a byte that is not UTF-8."""
_DEFINITION = re.compile(r"\s*+(?:PARAMS\s*+\(([^)]*)\))?[\s,;]*+BEGIN\b(.*?)\bEND\s*;", re.DOTALL | re.IGNORECASE)
_ARGUMENTS = re.compile(r"\s*\(")


class Macro(NamedTuple):
    """A macro is text that its name stands for; parameters are the names in it that a call gives values for."""

    parameters: tuple[str, ...]
    body: str


@dataclass(frozen=True)
class SourceText:
    """A source text is what a parameter file says, in one piece. starts and places: where its slices come from.

    A slice of an expanded macro comes from the place of its call, as a whole.
    """

    text: str
    starts: list[int]
    places: list[tuple[Place, bool]]

    def locate(self, at: int) -> Place:
        """Return the place that a character of the text comes from."""
        number = bisect_right(self.starts, at) - 1
        place, is_whole = self.places[number]
        if is_whole:
            return place
        start = self.starts[number]
        first, last = (bisect_left(self._line_ends, end) for end in (start, at))
        if first == last:
            return Place(place.file, place.line, place.column + at - start)
        return Place(place.file, place.line + last - first, at - self._line_ends[last - 1])

    @cached_property
    def _line_ends(self) -> list[int]:
        return _newlines(self.text)


def read_source(path: Path) -> SourceText:
    """Return the text of a parameter file. Raises Problem, and ConfigError CFG-160 for a file that can't be read."""
    reader = _Reader()
    reader.read_file(path)
    return SourceText("".join(reader.parts), reader.starts, reader.places)


class _Reader:
    """The reader collects the slices of a text, file by file and macro by macro."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.starts: list[int] = []
        self.places: list[tuple[Place, bool]] = []
        self._size = 0
        self._macros: dict[str, Macro] = {}
        self._open: list[Path] = []

    def read_file(self, path: Path, included_at: Place | None = None) -> None:
        """Add a file. included_at: where another file includes it."""
        own = path.resolve()
        if included_at is not None and (own in [one.resolve() for one in self._open] or len(self._open) > MAX_DEPTH):
            raise Problem(included_at, f"{path.name} includes itself, over {len(self._open)} files")
        self._open.append(path)
        self._expand(_content(path, included_at), Place(str(path), 1, 1), is_whole=False, depth=0)
        self._add("\n", Place(str(path), 1, 1), is_whole=True)
        self._open.pop()

    def _add(self, text: str, place: Place, *, is_whole: bool) -> None:
        if not text:
            return
        if (foreign := _FOREIGN.search(text)) is not None:
            line = place.line if is_whole else place.line + text.count("\n", 0, foreign.start())
            raise Problem(Place(place.file, line, 1), "is not UTF-8 text; comments alone may be in another encoding")
        self.starts.append(self._size)
        self.places.append((place, is_whole))
        self.parts.append(text)
        self._size += len(text)
        if self._size > MAX_TEXT:
            raise Problem(place, "with its macros and includes the file is larger than 32 MB")

    def _expand(self, text: str, origin: Place, *, is_whole: bool, depth: int) -> None:
        """Add a text. origin: where it begins; is_whole: every character of it comes from there."""
        places = _Lines(text, origin, is_whole)
        at = 0
        for match in _PARTS.finditer(text):
            if match.start() < at or match["quoted"]:
                continue
            place = places.at(match.start(match.lastgroup or 0))
            self._add(text[at : match.start()], places.at(at), is_whole=is_whole)
            at = match.end()
            if match["comment"]:
                self._add(" " * len(match["comment"]), places.at(match.start()), is_whole=is_whole)
            elif match["macro"]:
                at = self._define(match["macro"], text, at, place)
            elif match["file"]:
                self.read_file(_beside(self._open[-1], match["file"], place), place)
            else:
                at = self._call(match["call"], text, match.end(), (place, depth))
        self._add(text[at:], places.at(at), is_whole=is_whole)

    def _define(self, name: str, text: str, at: int, place: Place) -> int:
        definition = _DEFINITION.match(text, at)
        if definition is None:
            raise Problem(place, f"MACRO {name} is not of the form MACRO {name} PARAMS (#a) BEGIN … END;")
        parameters = tuple(one.strip().lower() for one in (definition[1] or "").split(",") if one.strip())
        self._macros[name.lower()] = Macro(parameters, definition[2].strip())
        return definition.end()

    def _call(self, name: str, text: str, at: int, caller: tuple[Place, int]) -> int:
        """Add what a macro stands for, or the name itself when there is no such macro."""
        place, depth = caller
        macro = self._macros.get(name.lower())
        if macro is None:
            self._add(name, place, is_whole=True)
            return at
        if depth > MAX_DEPTH:
            raise Problem(place, f"macro {name} expands to itself")
        arguments, at = _arguments(text, at, name, place)
        if len(arguments) != len(macro.parameters):
            raise Problem(
                place, f"macro {name} has {len(macro.parameters)} parameters, and this call gives {len(arguments)}"
            )
        values = dict(zip(macro.parameters, arguments, strict=True))
        body = re.sub(r"#\w+", lambda m: values.get(m[0].lower(), m[0]), macro.body)
        self._expand(body, place, is_whole=True, depth=depth + 1)
        return at


class _Lines:
    """The lines of a text, for the places of its characters. origin: where its first one stands, or is_whole: all."""

    def __init__(self, text: str, origin: Place, is_whole: bool) -> None:
        self._origin, self._is_whole = origin, is_whole
        self._newlines = _newlines(text)

    def at(self, at: int) -> Place:
        if self._is_whole:
            return self._origin
        line = bisect_left(self._newlines, at)
        start = self._newlines[line - 1] if line else -1
        return Place(self._origin.file, self._origin.line + line, at - start)


def _newlines(text: str) -> list[int]:
    return [match.start() for match in re.finditer("\n", text)]


def _arguments(text: str, at: int, name: str, place: Place) -> tuple[list[str], int]:
    """Return the arguments of a macro's call, and where the text goes on behind them."""
    opening = _ARGUMENTS.match(text, at)
    if opening is None:
        return [], at
    depth, start, found = 1, opening.end(), []
    for token in tokens(text, ARGUMENTS, opening.end()):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 or (token.text == "," and depth == 1):
            found.append(text[start : token.start].strip())
            start = token.end
        if depth == 0:
            return [one for one in found if one or len(found) > 1], token.end
    raise Problem(place, f"the ( of macro {name} is not closed")


def _content(path: Path, included_at: Place | None) -> str:
    try:
        if path.stat().st_size > MAX_TEXT:
            raise Problem(included_at or Place(str(path), 1, 1), f"{path.name} is larger than 32 MB")
        text = path.read_bytes().decode("utf-8-sig", errors="surrogateescape")
    except OSError as error:
        if included_at is not None:
            raise Problem(included_at, f"{path.name}: {error.strerror}; put it beside the parameter file") from None
        hint = "name a parameter file of an Extract or a Replicat"
        raise ConfigError(f"{path}: {error.strerror}", code="CFG-160", hint=hint) from None
    return "\n".join(_json_lines(text, path)) if text.lstrip()[:1] in ("[", "{") else text.replace("\r\n", "\n")


def _json_lines(text: str, path: Path) -> Iterator[str]:
    """Yield the lines of a parameter file as GoldenGate's REST interface holds it: a JSON array, or its `config`."""
    try:
        value = json.loads(text)
    except ValueError:
        raise Problem(Place(str(path), 1, 1), "begins like JSON, and is none") from None
    except RecursionError:
        raise Problem(Place(str(path), 1, 1), "is JSON that is nested too deeply") from None
    lines = value.get("config") if isinstance(value, dict) else value
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise Problem(Place(str(path), 1, 1), "is JSON, and no array of lines")
    yield from lines


def _beside(including: Path, name: str, place: Place) -> Path:
    """Return the file that is included: under the folder of the file that includes it, or of that name in it.

    A link that leads out of the folder is no file of it.
    """
    folder = including.parent
    plain = name.strip("'\"").replace("\\", "/")
    wanted = (folder / plain).resolve()
    if not Path(plain).is_absolute() and wanted.is_relative_to(folder.resolve()) and wanted.is_file():
        return folder / plain
    found = folder / Path(plain).name
    if not (found.is_file() and found.resolve().is_relative_to(folder.resolve())):
        raise Problem(place, f"{Path(plain).name} is not beside {including.name}: put it there")
    return found
