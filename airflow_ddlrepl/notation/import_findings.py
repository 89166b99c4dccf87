"""This module defines what an import reports: what of another system's definition is not taken, by what that means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import ValidationError


class Fate(StrEnum):
    """A fate says what becomes of a parameter that there is nothing for here.

    SAFE: nothing is lost without it. ATTENTION: the rest works, and somebody has to decide or set something.
    REFUSED: without it other rows or values would arrive, so what it belongs to is left out.
    """

    SAFE = "ignored safely"
    ATTENTION = "needs attention"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry is what becomes of a parameter, and why. fate None: it is taken."""

    fate: Fate | None
    why: str = ""


TAKEN = Entry(None)


def entries(fate: Fate, why: str, *names: str) -> dict[str, Entry]:
    """Return the entries of these names, which the texts hold with blanks between them: all have one fate."""
    return {name: Entry(fate, why) for text in names for name in text.split()}


def taken(*names: str) -> dict[str, Entry]:
    """Return the entries of names that are taken; the texts hold them with blanks between them."""
    return dict.fromkeys((name for text in names for name in text.split()), TAKEN)


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding is something of a definition that is not taken. line: of the imported file."""

    line: int
    fate: Fate
    what: str
    why: str

    def place(self, file: str) -> str:
        """Return where the finding stands, as FILE:LINE. file: the imported one."""
        return f"{file}:{self.line}"


WORST_FIRST = tuple(reversed(Fate))
"""The fates in the order in which a person reads them."""


def report_lines(findings: Sequence[Finding], file: str) -> Iterator[str]:
    """Yield the findings as lines for a person: what is refused first, and what is ignored as a line for each reason.

    A fate without findings says so.
    """
    for fate in WORST_FIRST:
        found = [one for one in findings if one.fate is fate]
        yield f"{fate}: {len(found) or 'nothing'}"
        if fate is Fate.SAFE:
            yield from _by_reason(found)
        else:
            yield from (f"  {one.place(file)}: {one.what}: {one.why}" for one in found)


def _by_reason(findings: Sequence[Finding]) -> Iterator[str]:
    reasons: dict[str, dict[str, list[int]]] = {}
    for one in findings:
        reasons.setdefault(one.why, {}).setdefault(one.what, []).append(one.line)
    for why, places in reasons.items():
        names = (f"{what} ({', '.join(map(str, dict.fromkeys(lines)))})" for what, lines in places.items())
        yield f"  {why}: {', '.join(names)}"


def message(error: ValueError) -> str:
    """Return in one line what is wrong with a value of a channel file."""
    if not isinstance(error, ValidationError):
        return str(error)
    details = error.errors(include_url=False, include_input=False)
    texts = (f"{'.'.join(map(str, d['loc']))}: {d['msg'].removeprefix('Value error, ')}" for d in details)
    return "; ".join(text.removeprefix(": ").replace("Input should be", "has to be") for text in texts)
