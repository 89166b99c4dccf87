"""This module spells names as a database does: those without quotes in its case, those in quotes as they are."""

from __future__ import annotations

import re
from enum import StrEnum

from airflow_ddlrepl.sql import lexical

_PART = re.compile(rf'\s*(?:({lexical.NAME})|([^\s".]+))\s*')
_WITHOUT_QUOTES = re.compile(r'[^\s".]+')


class NameCase(StrEnum):
    """A name's case says how a database spells names without quotes: Oracle in upper case, PostgreSQL in lower."""

    UPPER = "upper"
    LOWER = "lower"

    def plain(self, name: str) -> str:
        """Return a name that has no quotes, in this case."""
        return name.upper() if self is NameCase.UPPER else name.lower()

    def parts(self, name: str) -> tuple[str, ...]:
        """Return the parts of a name with dots, such as `hr.locations` or `"HR"."Locations"`.

        Raises ValueError for a text that is no name.
        """
        found, at = [], 0
        while match := _PART.match(name, at):
            found.append(lexical.name_in(match[1]) if match[1] else self.plain(match[2]))
            at = match.end()
            if at == len(name):
                return tuple(found)
            if name[at] != ".":
                break
            at += 1
        raise ValueError(f"{name!r} is no name")

    def one(self, name: str) -> str:
        """Return a name without dots. Raises ValueError for another one."""
        found = self.parts(name)
        if len(found) != 1:
            raise ValueError(f"{name!r} is no single name")
        return found[0]

    def written(self, *parts: str) -> str:
        """Return the text that `parts` reads as these parts of a name, with quotes where it needs them."""
        return ".".join(map(self._part, parts))

    def _part(self, part: str) -> str:
        if _WITHOUT_QUOTES.fullmatch(part) and self.plain(part) == part:
            return part
        return '"' + part.replace('"', '""') + '"'
