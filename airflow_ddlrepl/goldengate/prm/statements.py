"""Split the text of a parameter file into its parameters, each with the text that belongs to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from airflow_ddlrepl.goldengate.prm.problems import Problem
from airflow_ddlrepl.goldengate.prm.vocabulary.ddl import CONTINUING
from airflow_ddlrepl.goldengate.prm.vocabulary.map_options import MAP_OPTIONS
from airflow_ddlrepl.goldengate.prm.vocabulary.options import ALSO_ARGUMENTS, NAMED, OPTIONS
from airflow_ddlrepl.goldengate.prm.vocabulary.parameters import (
    BY_CLAUSES,
    PARAMETERS,
    SECRET,
    TERMINATED,
    WITH_LOGINS,
)
from airflow_ddlrepl.sql.languages import ARGUMENTS, PARAMETER_FILE, TYPOGRAPHIC
from airflow_ddlrepl.sql.tokens import Kind, tokens

_BLANK = re.compile(r"[\s;&]*")
_NAME = re.compile(r"[^\s,;()&]+")
_PROCESS = re.compile(r"[ \t]*[^\s,;()&]+")
_NAME_BEHIND = re.compile(r"\s*\w+[ \t]+[\w\"*]")
_NEXT_LINE = re.compile(r"\s*([A-Za-z_]\w*|,)?")
_BEHIND_END = re.compile(r"[ \t]*[^\s;&]")
_BEFORE_SECRET = frozenset(("PASSWORD", "ENCRYPTKEY", "KEYNAME", "MININGPASSWORD", "ASMPASSWORD", "PARAMS"))
"""Words behind which a value stands that may look like anything."""
_AMPERSAND = re.compile(r"&(?=[ \t]*(?:\n|\Z))")


_NEVER_A_VALUE = frozenset(("DDL", "DDLOPTIONS", "DDLSUBST", "DDLERROR"))
"""Parameters whose names are no values of clauses: they begin another parameter, wherever they stand."""
BEGINNING = frozenset(("TABLE", "MAP", "TABLEEXCLUDE", "MAPEXCLUDE", *_NEVER_A_VALUE))
_ONLY_PARAMETERS = PARAMETERS.keys() - MAP_OPTIONS.keys()
"""Parameters that are no options of TABLE or MAP, too: one that begins a line begins a parameter."""


class Statement(NamedTuple):
    """A statement is one parameter: its name in upper case, and the text behind the name, which begins at `start`.

    at: where the name stands. Both are characters of the file's text. Continuation marks are blanks in the text.
    """

    name: str
    at: int
    text: str
    start: int


def split(text: str) -> Iterator[Statement | Problem]:
    """Yield the parameters of a text in order; in place of one that doesn't end, what is wrong with it."""
    at, is_secret = _blank(text, 0), False
    while at < len(text):
        try:
            name, start = _name(text, at, is_secret=is_secret)
            end, statement_end = _end(text, name, at, start)
            is_secret = name in SECRET or (name in WITH_LOGINS and "PASSWORD" in text[start:end].upper())
        except Problem as problem:
            yield problem
            at = _blank(text, _line_end(text, problem.at if isinstance(problem.at, int) else at))
            continue
        yield Statement(name, at, _AMPERSAND.sub(" ", text[start:end]), start)
        at = _blank(text, statement_end)


def _blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _name(text: str, at: int, *, is_secret: bool) -> tuple[str, int]:
    """Return the parameter's name and where the text behind it begins.

    What follows a login without being a parameter may be a part of it, and is not shown.
    """
    found = _NAME.match(text, at)
    name = found[0].upper() if found else text[at]
    if name.startswith(("#", "//", "/*")) and not is_secret:
        raise Problem(at, f"{name[:1]} begins no comment: write -- in front of a comment; macros stand behind MACRO")
    if name not in PARAMETERS and is_secret:
        return "", at + len(name)
    return name, at + len(name)


def _end(text: str, name: str, at: int, start: int) -> tuple[int, int]:
    """Return where the parameter's text ends, and where the next parameter may begin."""
    if name in ("EXTRACT", "REPLICAT"):
        found = _PROCESS.match(text, start)
        end = found.end() if found else start
        return end, end
    if name in TERMINATED or name in BY_CLAUSES:
        return _end_by_tokens(text, name, at, start)
    return _end_by_lines(text, name, start)


def _end_by_tokens(text: str, name: str, at: int, start: int) -> tuple[int, int]:
    """Return the end of a parameter whose arguments are read: at its `;`, or where its last line ends."""
    opened: list[int] = []
    before = ""
    for kind, _, value, place, behind in tokens(text, PARAMETER_FILE, start):
        if kind is Kind.LINE and before != "&":
            word = _next_word(text, behind)
            if name in TERMINATED or opened:
                _check_lost(text, name, word, (at, opened, place))
            elif before != "," and word != "," and word not in CONTINUING:
                return place, behind
        elif kind is Kind.OPEN and value in TYPOGRAPHIC:
            raise Problem(place, f"{value} is a typographic quote: write ' or \"")
        elif kind is Kind.OPEN:
            raise Problem(place, f"this quote of {name} is not closed in its line")
        elif value == ";":
            if opened:
                raise Problem(opened[-1], f"this ( of {name} is not closed before the ;")
            return place, behind
        elif value == "(":
            opened.append(place)
        elif value == ")":
            if not opened:
                raise Problem(place, f"this ) of {name} closes nothing")
            opened.pop()
        elif kind is Kind.WORD and name in BY_CLAUSES and value.upper() in _NEVER_A_VALUE:
            return place, place
        if kind is Kind.LINE:
            before = before if before in ("&", ",") else ""
        elif kind is not Kind.SPACE:
            before = "&" if kind is Kind.MORE else value
    if name in TERMINATED or opened:
        _check_lost(text, name, None, (at, opened, len(text)))
    return len(text), len(text)


def _next_word(text: str, at: int) -> str | None:
    """Return the word, or comma, that begins the next line with text, in upper case; None where the text ends."""
    found = _NEXT_LINE.match(text, at)
    if found is None or found.end() == len(text):
        return None if found is None or not found[1] else found[1].upper()
    return (found[1] or "").upper()


def _check_lost(text: str, name: str, word: str | None, where: tuple[int, list[int], int]) -> None:
    """Raise a problem where a parameter, or a parenthesis of it, isn't closed before the next parameter begins."""
    at, opened, end = where
    if word is not None and word not in BEGINNING and (opened or word not in _ONLY_PARAMETERS):
        return
    if opened and (word is None or _is_followed_by_name(text, end)):
        raise Problem(opened[-1], f"this ( of {name} is not closed")
    if not opened:
        behind = f"before {word}" if word else "at the end of the file"
        raise Problem(at, f"{name} has no ; {behind}: put one where it ends")


def _is_followed_by_name(text: str, at: int) -> bool:
    """Does a name, and no sign, follow the word that begins the next line?"""
    return _NAME_BEHIND.match(text, at) is not None


def _end_by_lines(text: str, name: str, start: int) -> tuple[int, int]:
    """Return the end of a parameter whose arguments stand in lines: at its last one, or where the next one begins."""
    arguments, at, goes_on = _Arguments(name), start, False
    while True:
        end = _line_end(text, at)
        line = text[at:end]
        found = arguments.end(line)
        if found is not None:
            return at + found[0], at + found[1]
        goes_on = line.rstrip().endswith(("&", ",")) or (goes_on and not line.strip())
        word = _next_word(text, end + 1) if end < len(text) else None
        depth = 0 if name in SECRET else len(arguments.opened)
        if word is None or word in PARAMETERS or not (goes_on or depth > 0 or word == ","):
            if depth > 0 and name in PARAMETERS:
                raise Problem(start + arguments.opened[-1], f"this ( of {name} is not closed")
            return end, end
        arguments.before += end + 1 - at
        at = end + 1


class _Arguments:
    """The arguments of a parameter are read line by line, up to one that begins another parameter.

    opened: where parentheses stand that are open, counted from the parameter's text on. before: the lines read so far.
    """

    def __init__(self, name: str) -> None:
        self._is_known = name in PARAMETERS
        known = OPTIONS.get(name)
        self._values = known.values if known else int(name in NAMED)
        self._own = ALSO_ARGUMENTS.get(name, frozenset()) | (known.options.keys() if known else set())
        self._previous = ""
        self.opened: list[int] = []
        self.before = 0

    def end(self, line: str) -> tuple[int, int] | None:
        """Return where the parameter ends in a line, and where the next one begins; None: it has the whole line."""
        for kind, _, text, start, end in tokens(line, ARGUMENTS):
            word = text.strip("&").upper()
            if text == "(":
                self.opened.append(self.before + start)
                self._values -= len(self.opened) == 1
            elif text == ")":
                del self.opened[-1:]
            elif self.opened or text == "," or not word:
                continue
            elif text == ";":
                if self._is_known and _BEHIND_END.match(line, end):
                    return start, end
            elif kind is Kind.WORD and self._is_next(word):
                return start, start
            else:
                self._values -= 1
                self._previous = word
        return None

    def _is_next(self, word: str) -> bool:
        """Does a word begin the next parameter? A first value may look like one."""
        is_value = (self._values > 0 and word not in BEGINNING) or self._previous in _BEFORE_SECRET or word in self._own
        return self._is_known and word in PARAMETERS and not is_value


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
