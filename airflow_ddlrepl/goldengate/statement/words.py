"""This module walks over the words and names of a statement, from left to right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from airflow_ddlrepl.config.goldengate.dialect import Dialect
from airflow_ddlrepl.goldengate.statement.scan import Kind, Piece

Phrases = Mapping[str, Sequence[tuple[str, ...]]]
"""Phrases of one or more words, by their first word."""


def by_first_word(*phrases: tuple[str, ...]) -> Phrases:
    """Return these phrases by their first word, each of these in their order."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for phrase in phrases:
        found.setdefault(phrase[0], []).append(phrase)
    return found


_ONLY = by_first_word(("ONLY",))


class Named(NamedTuple):
    """A named object is an object's name as a statement writes it, with its place in the text.

    schema: empty where the text has none. start, end: of the whole name. A catalog in front of it is not part of it.
    """

    schema: str
    name: str
    start: int
    end: int


class Words:
    """The words of a statement are its pieces without comments, and the place up to which they have been read."""

    def __init__(self, pieces: Iterable[Piece], dialect: Dialect) -> None:
        self._pieces = [piece for piece in pieces if piece.kind is not Kind.COMMENT]
        self._words = [p.value if p.kind is Kind.WORD or p.kind is Kind.SIGN else "" for p in self._pieces]
        self._words.append("")
        self._dialect = dialect
        self._at = 0

    def peek(self, ahead: int = 0) -> str:
        """Return the word that comes next, in upper case; of a name in quotes or a constant, nothing."""
        return self._words[min(self._at + ahead, len(self._pieces))]

    def take(self, *words: str) -> bool:
        """Read these words if they come next."""
        if tuple(self._words[self._at : self._at + len(words)]) == words:
            self._at += len(words)
            return True
        return False

    def take_any(self, phrases: Phrases) -> tuple[str, ...]:
        """Read the first of these phrases that comes next, and return it; empty: none comes.

        A word with a dot behind it is a schema's name, whatever the word.
        """
        for phrase in phrases.get(self._words[self._at], ()):
            if self.peek(len(phrase)) != "." and self.take(*phrase):
                return phrase
        return ()

    def take_behind(self, before: Phrases, phrases: Phrases) -> tuple[str, ...]:
        """Read the first of these phrases, with any of `before` in front, and return it; empty: nothing is read."""
        start = self._at
        self.skip(before)
        found = self.take_any(phrases)
        if not found:
            self._at = start
        return found

    def skip(self, phrases: Phrases) -> None:
        """Read any of these phrases, as often as they come."""
        while self.take_any(phrases):
            pass

    def skip_to(self, *words: str) -> bool:
        """Read up to the first of these words that is in no parentheses, and it; False: nothing is read."""
        depth = 0
        for place in range(self._at, len(self._pieces)):
            piece = self._pieces[place]
            if piece.kind is Kind.SIGN:
                depth += (piece.value == "(") - (piece.value == ")")
            elif piece.kind is Kind.WORD and depth == 0 and piece.value in words:
                self._at = place + 1
                return True
        return False

    def name(self, drop: int = 0) -> Named | None:
        """Read a name of one to three parts; None: none comes next. drop: so many last parts are not of the object."""
        parts: list[Piece] = []
        while (part := self._part(self._at)) is not None:
            parts.append(part)
            self._at += 1
            if not (self.peek() == "." and self._part(self._at + 1) is not None):
                break
            self._at += 1
        own = parts[: len(parts) - drop] if len(parts) > drop else parts
        if not own:
            return None
        texts = [self._text(part) for part in own]
        return Named(texts[-2] if len(texts) > 1 else "", texts[-1], own[0].start, own[-1].end)

    def names(self) -> tuple[Named, ...]:
        """Read names with commas between them; arguments in parentheses behind a name are passed over."""
        found: list[Named] = []
        while True:
            self.skip(_ONLY)
            name = self.name()
            if name is None:
                return tuple(found)
            found.append(name)
            if self.peek() == "(":
                self._skip_parentheses()
            self.take("*")
            if not self.take(","):
                return tuple(found)

    def _skip_parentheses(self) -> None:
        depth = 0
        while self._at < len(self._pieces):
            depth += (self.peek() == "(") - (self.peek() == ")")
            self._at += 1
            if depth == 0:
                return

    def _part(self, place: int) -> Piece | None:
        if place >= len(self._pieces):
            return None
        piece = self._pieces[place]
        return piece if piece.kind in (Kind.WORD, Kind.NAME) else None

    def _text(self, part: Piece) -> str:
        return part.value if part.kind is Kind.NAME else self._dialect.fold(part.text)
