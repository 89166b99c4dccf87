"""This module reads the statements of a block of PL/SQL in their order, and follows its variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_ddlrepl.frontends.findings import Fate
from airflow_ddlrepl.frontends.streams.expressions import (
    Assignment,
    Call,
    Unknown,
    Unreadable,
    read_statement,
    read_value,
)
from airflow_ddlrepl.frontends.streams.script import Token, tokens
from airflow_ddlrepl.frontends.streams.vocabulary import PACKAGES

_COMPOUND = frozenset({"IF", "FOR", "WHILE", "LOOP", "CASE"})
_SILENT = frozenset({"NULL", "COMMIT", "ROLLBACK", "RETURN"})
_OTHER = frozenset(
    {"SELECT", "INSERT", "UPDATE", "DELETE", "OPEN", "FETCH", "CLOSE", "RAISE", "MERGE", "GOTO", "PRAGMA"}
)


class Note(Exception):
    """This error is something of a block that is not taken. at: the character of the script."""

    def __init__(self, at: int, fate: Fate, what: str, why: str) -> None:
        super().__init__(at, fate, what, why)
        self.at, self.fate, self.what, self.why = at, fate, what, why


class BlockReader:
    """A block reader goes through one block; `calls` yields its calls, and what of it is not taken.

    The values of variables are followed; the reader of calls sets those that a call gives back.
    """

    def __init__(self, text: str, offset: int) -> None:
        """offset: where the block begins in the script."""
        self.text = text
        self.offset = offset
        self.found = list(tokens(text))
        self.at = 0
        self.variables: dict[str, Any] = {}

    def calls(self) -> Iterator[Call | Note]:
        """Yield the calls of the block, in order."""
        if self.found and self.found[0].upper in ("EXEC", "EXECUTE"):
            start = self.found[0].at + len(self.found[0].text)
            yield from self._simple(start, len(self.text.rstrip().rstrip(";").rstrip("-")))
            return
        yield from self._body()

    def _body(self) -> Iterator[Call | Note]:
        depth = 0
        while self.at < len(self.found):
            token = self.found[self.at]
            word = token.upper
            if word == "DECLARE":
                self.at += 1
                yield from self._declarations()
            elif word == "BEGIN":
                depth += 1
                self.at += 1
            elif word == "END":
                depth -= 1
                self._skip_statement()
            elif word == "EXCEPTION":
                self._skip_handlers()
            elif word in _COMPOUND:
                yield from self._compound(token)
            elif word == "<<":
                while self.at < len(self.found) and self.found[self.at].upper != ">>":
                    self.at += 1
                self.at += 1
            elif word == ";":
                self.at += 1
            else:
                start = token.at
                end = self._skip_statement()
                yield from self._simple(start, end)

    def _declarations(self) -> Iterator[Call | Note]:
        while self.at < len(self.found) and self.found[self.at].upper != "BEGIN":
            first = self.found[self.at]
            if first.upper in ("PROCEDURE", "FUNCTION"):
                yield self._note(
                    first, Fate.REFUSED, f"{first.upper} in a block", "what it calls depends on its callers"
                )
                self.at = len(self.found)
                return
            begin = self.at
            end = self._skip_statement()
            name = first.upper or first.text
            setting = next((one for one in self.found[begin : self.at] if one.upper in (":=", "DEFAULT")), None)
            if setting is None:
                self.variables[name] = None
                continue
            start = setting.at + len(setting.text)
            try:
                self.variables[name] = read_value(self.text[start:end], self.variables)
            except Unreadable:
                self.variables[name] = Unknown(f"{name}, whose value is computed when the script runs")

    def _simple(self, start: int, end: int) -> Iterator[Call | Note]:
        """Yield the call that a statement is, or set the variable that it sets."""
        text = self.text[start:end]
        first = next(tokens(text), None)
        word = first.upper if first else ""
        if not text.strip() or word in _SILENT:
            return
        if word in _OTHER or word == "EXECUTE":
            yield from self._other(start, text, word)
            return
        try:
            found = read_statement(text, self.variables)
        except Unreadable as error:
            shown = f"{first.text if first else ''} …"
            fate = Fate.REFUSED if _is_ours(text) else Fate.ATTENTION
            yield Note(self.offset + start + error.at, fate, shown, f"{error.text}: it is not read")
            return
        if isinstance(found, Assignment):
            self.variables[found.variable] = found.value
        else:
            yield Call(found.name, found.arguments, self.offset + start + found.at)

    def _other(self, start: int, text: str, word: str) -> Iterator[Note]:
        """Forget the variables that a statement of SQL sets; note what else it does."""
        words = [one.upper or one.text for one in tokens(text)]
        if "INTO" in words and word in ("SELECT", "FETCH"):
            for name in words[words.index("INTO") + 1 :]:
                if name in ("FROM", "WHERE"):
                    break
                self.variables[name] = Unknown(f"{name}, which a query gives")
        elif _is_ours(text):
            what = " ".join(text.split())[:40]
            yield Note(
                self.offset + start, Fate.REFUSED, what, "it is built when the script runs: write the call itself"
            )
        elif word == "EXECUTE":
            yield Note(self.offset + start, Fate.ATTENTION, "EXECUTE IMMEDIATE", "its statement is not read")

    def _compound(self, token: Token) -> Iterator[Note]:
        """Skip IF, LOOP and the like: what is called in them depends on the run."""
        start, depth, before = token.at, 0, ""
        while self.at < len(self.found):
            word = self.found[self.at].upper
            if word in ("IF", "LOOP", "CASE", "BEGIN") and before != "END":
                depth += 1
            elif word == "END":
                depth -= 1
            self.at += 1
            if word == ";" and depth == 0 and before in ("IF", "LOOP", "CASE", "END"):
                break
            before = word
        end = self.found[self.at - 1].at
        if _is_ours(self.text[start:end]):
            why = "what is called in it depends on the run: write the calls one by one"
            yield self._note(token, Fate.REFUSED, f"{token.upper} …", why)

    def _skip_statement(self) -> int:
        """Go past the next semicolon. Return where it stands."""
        while self.at < len(self.found):
            token = self.found[self.at]
            self.at += 1
            if token.text == ";":
                return token.at
        return len(self.text)

    def _skip_handlers(self) -> None:
        """Go to the END of a block from its EXCEPTION on."""
        depth, before = 0, ""
        while self.at < len(self.found):
            word = self.found[self.at].upper
            if word == "END" and depth == 0:
                return
            if word in ("IF", "LOOP", "CASE", "BEGIN") and before != "END":
                depth += 1
            depth -= word == "END"
            before = word
            self.at += 1

    def _note(self, token: Token, fate: Fate, what: str, why: str) -> Note:
        return Note(self.offset + token.at, fate, what, why)


def _is_ours(text: str) -> bool:
    upper = text.upper()
    return any(package in upper for package in PACKAGES if package.startswith("DBMS_") and package != "DBMS_OUTPUT")
