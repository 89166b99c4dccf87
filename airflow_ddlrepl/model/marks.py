"""A mark is a number and a random token that each capture leaves at source, repository, trail and targets.

A copy of one of them that is put back has an older mark than the others, whatever was written to it since.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark is what one capture leaves: its number, which grows by one, and a token that nobody can guess."""

    number: int
    token: str

    @classmethod
    def after(cls, last: int) -> Mark:
        """Return a new mark that follows the one of this number."""
        return cls(last + 1, secrets.token_hex(16))

    @classmethod
    def parse(cls, text: str) -> Mark:
        """Return the mark that `to_text` wrote."""
        number, _, token = text.partition(" ")
        return cls(int(number), token)

    def to_text(self) -> str:
        """Return number and token as one text."""
        return f"{self.number} {self.token}"

    def __str__(self) -> str:
        return f"mark {self.number}"


@dataclass(frozen=True, slots=True)
class SourceMark:
    """A source mark is the mark that a source has. after: the token of the repository's mark before it."""

    mark: Mark
    after: str
