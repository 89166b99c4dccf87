"""This module defines where something stands in a parameter file, what is found there, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.notation.import_findings import Finding


class Place(NamedTuple):
    """A place is a character of a parameter file, or of a file that it includes. Lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class ParameterFinding(Finding):
    """This finding is a parameter of a parameter file, or an option of one, that is not taken as it is."""

    file: str = ""
    column: int = 0

    def place(self, file: str) -> str:
        """Return where the finding stands, as FILE:LINE:COLUMN."""
        return f"{self.file or file}:{self.line}:{self.column}"


class Problem(Exception):
    """This error is one thing that makes a parameter file unreadable. at: the place, or the character of its text."""

    def __init__(self, at: Place | int, text: str) -> None:
        super().__init__(at, text)
        self.at = at
        self.text = text

    def located(self, locate: Callable[[int], Place]) -> tuple[Place, str]:
        """Return the problem's place and what is wrong there."""
        return (locate(self.at) if isinstance(self.at, int) else self.at), self.text


class Refused(Exception):
    """This error is a parameter that is read, and left out. at: the character of the file's text that it is about."""

    def __init__(self, at: int, what: str, why: str) -> None:
        super().__init__(at, what, why)
        self.at, self.what, self.why = at, what, why


def unreadable_file(found: list[tuple[Place, str]]) -> ConfigError:
    """Return the error that a person gets, with every problem as FILE:LINE:COLUMN."""
    lines = [f"{place}: {text}" for place, text in sorted(set(found))]
    head = "" if len(lines) == 1 else f"{len(lines)} problems\n"
    return ConfigError(head + "\n".join(lines), code="CFG-161", hint="docs/goldengate.md shows what is read")
