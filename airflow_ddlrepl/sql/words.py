"""This module walks over the words and names of a statement, from left to right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.tokens import COMMENT, NAME, SIGN, WORD, Token

Phrases = Mapping[str, Sequence[tuple[str, ...]]]
"""Phrases of one or more words, by their first word."""


def by_first_word(*phrases: tuple[str, ...]) -> Phrases:
    """Return these phrases by their first word, each of these in their order."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for phrase in phrases:
        found.setdefault(phrase[0], []).append(phrase)
    return found


_ONLY = by_first_word(("ONLY",))
_AT_ONCE = 8
"""So many tokens are taken at once: what most statements are about stands in the first ones."""


class Named(NamedTuple):
    """A named object is an object's name as a statement writes it, with its place in the text.

    schema: empty where the text has none. start, end: of the whole name. A catalog in front of it is not part of it.
    """

    schema: str
    name: str
    start: int
    end: int


class Words:
    """The words of a statement are its tokens without comments, and the place up to which they have been read.

    Tokens are taken from where they come only as far as they are looked at.
    """

    def __init__(self, coming: Iterable[Token], dialect: Dialect) -> None:
        self._coming = iter(coming)
        self._tokens: list[Token] = []
        self._words: list[str] = []
        self._dialect = dialect
        self._at = 0

    def peek(self, ahead: int = 0) -> str:
        """Return the word that comes next, in upper case; of a name in quotes or a constant, nothing."""
        at = self._at + ahead
        return self._words[at] if at < len(self._words) or self._reaches(at) else ""

    def take(self, *words: str) -> bool:
        """Read these words if they come next."""
        for ahead, word in enumerate(words):
            if self.peek(ahead) != word:
                return False
        self._at += len(words)
        return True

    def take_any(self, phrases: Phrases) -> tuple[str, ...]:
        """Read the first of these phrases that comes next, and return it; empty: none comes.

        A word with a dot behind it is a schema's name, whatever the word.
        """
        for phrase in phrases.get(self.peek(), ()):
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
        place = self._at
        while place < len(self._tokens) or self._reaches(place):
            token = self._tokens[place]
            place += 1
            if token.kind is SIGN:
                depth += (token.value == "(") - (token.value == ")")
            elif token.kind is WORD and depth == 0 and token.value in words:
                self._at = place
                return True
        return False

    def skip_past(self, sign: str) -> bool:
        """Read up to the next such sign that is in no parentheses, and it; False: none comes."""
        while self._at < len(self._tokens) or self._reaches(self._at):
            if self.peek() == "(":
                self._skip_parentheses()
            else:
                self._at += 1
                if self._words[self._at - 1] == sign:
                    return True
        return False

    def name(self, drop: int = 0) -> Named | None:
        """Read a name of one to three parts; None: none comes next. drop: so many last parts are not of the object."""
        parts: list[Token] = []
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

    def first_name(self) -> tuple[Named, ...]:
        """Read one name, which may have ONLY in front."""
        self.skip(_ONLY)
        name = self.name()
        return () if name is None else (name,)

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
        while self._at < len(self._tokens) or self._reaches(self._at):
            depth += (self.peek() == "(") - (self.peek() == ")")
            self._at += 1
            if depth == 0:
                return

    def _reaches(self, place: int) -> bool:
        """Take more tokens, up to this place; False: the text ends before it."""
        while coming := list(islice(self._coming, _AT_ONCE)):
            found = [token for token in coming if token.kind is not COMMENT]
            self._tokens += found
            self._words += [token.value if token.kind is WORD or token.kind is SIGN else "" for token in found]
            if len(self._words) > place:
                return True
        return False

    def _part(self, place: int) -> Token | None:
        if place >= len(self._tokens) and not self._reaches(place):
            return None
        token = self._tokens[place]
        return token if token.kind is WORD or token.kind is NAME else None

    def _text(self, part: Token) -> str:
        return part.value if part.kind is NAME else self._dialect.fold(part.text)
