"""This module reads words one after the other, and the types and names among them, for the parsers of expressions."""

from __future__ import annotations

from dataclasses import dataclass, field

from airflow_ddlrepl.sql.expressions.words import END, ExpressionWord, Kind, NotOneText, listed, words

DEEPEST = 120
_NAMES = (Kind.NAME, Kind.QUOTED)
_FIELDS = ("year", "month", "day", "hour", "minute", "second")
# Types whose names are keywords, as `format_type` prints them, and what may follow.
_KEYWORD_TYPES = listed(
    "bigint bit boolean char character decimal float int integer interval json numeric real smallint time "
    "timestamp varchar"
)


@dataclass
class Found:
    """This is what a text calls and names: what must be allowed before it goes into SQL.

    functions, operators, types, collations: names without a schema, in pg_catalog then, or with one. calls: names of
    functions with the number of their arguments. literal_types:
    types that a string literal alone is cast to. fields: attributes that are taken out of rows. values: keywords that
    stand for a value of the session, such as `current_user`.
    has_tests: has it IS, NOT or AT LOCAL? sorts: has it GREATEST or LEAST? since: the first version that reads all of
    its syntax.
    """

    functions: list[tuple[str, str]] = field(default_factory=list)
    calls: set[tuple[str, int]] = field(default_factory=set)
    operators: list[tuple[str, str]] = field(default_factory=list)
    types: list[tuple[str, str]] = field(default_factory=list)
    literal_types: list[tuple[str, str]] = field(default_factory=list)
    collations: list[tuple[str, str]] = field(default_factory=list)
    columns: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    has_tests: bool = False
    sorts: bool = False
    since: int = 15


class Reader:
    """A reader stands at one word of a text; `found` collects what it has read."""

    def __init__(self, text: str) -> None:
        self._words = words(text)
        self._at = 0
        self._depth = 0
        self.found = Found()

    @property
    def word(self) -> ExpressionWord:
        """The word at which the reader stands."""
        return self._words[self._at]

    def look(self, ahead: int) -> ExpressionWord:
        """Return the word that many places further; END behind the last one."""
        return self._words[min(self._at + ahead, len(self._words) - 1)]

    def next(self) -> ExpressionWord:
        """Return the present word, and go on to the next one."""
        word = self.word
        if word is not END:
            self._at += 1
        return word

    def has(self, *texts: str) -> bool:
        """Are the next words these bare words or signs? A quoted name is none of them."""
        found = [self.look(i) for i in range(len(texts))]
        return all(w.text == t and w.kind not in (Kind.QUOTED, Kind.STRING) for w, t in zip(found, texts, strict=True))

    def take(self, *texts: str) -> bool:
        """Go past these words, and return True, where they are the next ones."""
        if not self.has(*texts):
            return False
        self._at += len(texts)
        return True

    def need(self, *texts: str) -> None:
        """Go past these words. Raises NotOneText where others come."""
        if not self.take(*texts):
            raise NotOneText(f"has {self.shown()} where {' '.join(texts)} must come")

    def end(self) -> None:
        """Raise NotOneText where the text goes on."""
        if self.word is not END:
            raise NotOneText(f"goes on with {self.shown()} behind its end")

    def shown(self) -> str:
        """Return the present word for a message."""
        return repr(self.word.text) if self.word is not END else "its end"

    def deeper(self) -> None:
        """Enter parentheses or the like. Raises NotOneText for the nesting that no parser of ours follows."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise NotOneText(f"is nested more than {DEEPEST} deep")

    def back(self) -> None:
        """Leave what `deeper` entered."""
        self._depth -= 1

    def name(self) -> str:
        """Read a name. Raises NotOneText where a keyword or anything else comes."""
        if self.word.kind not in _NAMES:
            raise NotOneText(f"has {self.shown()} where a name must come")
        return self.next().text

    def is_name(self) -> bool:
        """Is the present word a name?"""
        return self.word.kind in _NAMES

    def qualified(self) -> tuple[str, str]:
        """Read a name with or without a schema; a schema pg_catalog counts as none."""
        first = self.name()
        if not self.take("."):
            return "", first
        return ("" if first == "pg_catalog" else first), self.name()

    def number(self) -> None:
        """Read a whole number, which may be negative."""
        if self.word.kind is Kind.OPERATOR and self.word.text == "-":
            self.next()
        if self.word.kind is not Kind.NUMBER or not self.word.text.isdigit():
            raise NotOneText(f"has {self.shown()} where a whole number must come")
        self.next()

    def type(self) -> tuple[str, str]:
        """Read a type as `format_type` prints it, with modifiers and array brackets; return its schema and name."""
        if self.word.kind is Kind.KEYWORD:
            name = "", self._keyword_type()
        else:
            name = self.qualified()
            if name == ("", "double") and self.take("precision"):
                name = "", "float8"
            self._modifiers()
        while self.take("["):
            if self.word.kind is Kind.NUMBER:
                self.number()
            self.need("]")
        return name

    def _keyword_type(self) -> str:
        name = self.word.text
        if name not in _KEYWORD_TYPES:
            raise NotOneText(f"has {self.shown()} where a type must come")
        self.next()
        if name in ("character", "char", "bit"):
            self.take("varying")
        if name == "interval":
            self._interval()
        self._modifiers()
        if name in ("time", "timestamp") and (self.has("with") or self.has("without")):
            self.next()
            self.need("time", "zone")
        return name

    def _interval(self) -> None:
        if self.word.text in _FIELDS:
            self.next()
            if self.take("to"):
                if self.word.text not in _FIELDS:
                    raise NotOneText(f"has {self.shown()} in the type of an interval")
                self.next()

    def _modifiers(self) -> None:
        if not self.take("("):
            return
        while True:
            if self.word.kind is Kind.STRING or self.is_name():  # as postgis writes geometry(Point,4326)
                self.next()
            else:
                self.number()
            if not self.take(","):
                break
        self.need(")")
