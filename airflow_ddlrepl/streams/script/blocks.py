"""This module reads the statements of a block of PL/SQL in their order, and follows its variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_ddlrepl.notation.import_findings import Entry, Fate
from airflow_ddlrepl.sql.tokens import NAME, STRING, WORD, Kind, Token
from airflow_ddlrepl.streams.script.action_contexts import ActionPairs, changed_context, skip, stored_contexts
from airflow_ddlrepl.streams.script.expressions import (
    Assignment,
    Call,
    Unknown,
    Unreadable,
    read_function,
    read_statement,
    read_value,
)
from airflow_ddlrepl.streams.script.script import tokens
from airflow_ddlrepl.streams.script.vocabulary import BUILT, CALL, FAMILY, LOGGING, OTHER, WHY_LOGGING

_COMPOUND = frozenset({"IF", "FOR", "WHILE", "LOOP", "CASE"})
_DEPENDS = Entry(Fate.REFUSED, "what is called in it depends on the run: write the calls one by one")
_SILENT = frozenset({"NULL", "COMMIT", "ROLLBACK", "RETURN"})
_OTHER = frozenset(
    {"SELECT", "INSERT", "UPDATE", "DELETE", "OPEN", "FETCH", "CLOSE", "RAISE", "MERGE", "GOTO", "PRAGMA"}
)


_MAKES_CONTEXT = re.compile(r":=\s*(?:SYS\s*\.\s*)?RE\$NV_LIST\b", re.IGNORECASE)


class Note(Exception):
    """This error is something of a block that is not taken. at: the character of the script."""

    def __init__(self, at: int, fate: Fate, what: str, why: str) -> None:
        super().__init__(at, fate, what, why)
        self.at, self.fate, self.what, self.why = at, fate, what, why


class BlockReader:
    """A block reader goes through one block; `calls` yields its calls, and what of it is not taken.

    The values of variables are followed; the reader of calls sets those that a call gives back.
    """

    def __init__(self, text: str, offset: int, variables: Mapping[str, Any] | None = None) -> None:
        """offset: where the block begins in the script. variables: of SQL*Plus, as `:NAME`."""
        self.text = text
        self.offset = offset
        self.found = list(tokens(text))
        self.at = 0
        self.variables: dict[str, Any] = dict(variables or {})

    def calls(self) -> Iterator[Call | Note]:
        """Yield the calls of the block, in order."""
        if self.found and self.found[0].word in ("EXEC", "EXECUTE", "CALL"):
            start = self.found[0].end
            yield from self._simple(start, len(self.text.rstrip().rstrip(";/").rstrip("-; \t\n")))
            return
        is_refused = False
        for one in self._body():
            is_refused |= isinstance(one, Note) and one.fate is Fate.REFUSED
            yield one
        for token in () if is_refused else _built_calls(self.found):
            why = "a statement is built of it when the script runs: write the call itself"
            yield self._note(token, Fate.REFUSED, f"{token.text[:40]} …", why)

    def _body(self) -> Iterator[Call | Note]:
        depth = 0
        while self.at < len(self.found):
            token = self.found[self.at]
            word = token.word
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
                yield from self._handlers(token)
            elif word in _COMPOUND:
                yield from self._compound(token)
            elif word == "<<":
                while self.at < len(self.found) and self.found[self.at].word != ">>":
                    self.at += 1
                self.at += 1
            elif word == ";":
                self.at += 1
            else:
                start = token.start
                end = self._skip_statement()
                yield from self._simple(start, end)

    def _declarations(self) -> Iterator[Call | Note]:
        while self.at < len(self.found) and self.found[self.at].word != "BEGIN":
            first = self.found[self.at]
            if first.word in ("PROCEDURE", "FUNCTION"):
                yield self._note(
                    first, Fate.REFUSED, f"{first.word} in a block", "what it calls depends on its callers"
                )
                self.at = len(self.found)
                return
            begin = self.at
            end = self._skip_statement()
            name = first.word or first.text
            setting = next((one for one in self.found[begin : self.at] if one.word in (":=", "DEFAULT")), None)
            if setting is None:
                self.variables[name] = None
                continue
            start = setting.end
            if _MAKES_CONTEXT.match(self.text[setting.start : end]):
                self.variables[name] = ActionPairs()
                continue
            try:
                self.variables[name] = read_value(self.text[start:end], self.variables)
            except Unreadable:
                self.variables[name] = Unknown(f"{name}, whose value is computed when the script runs")

    def _simple(self, start: int, end: int) -> Iterator[Call | Note]:
        """Yield the call that a statement is, or set the variable that it sets."""
        text = self.text[start:end]
        first = next(tokens(text), None)
        word = first.word if first else ""
        if not text.strip() or word in _SILENT:
            return
        if word in _OTHER or word == "EXECUTE":
            yield from self._other(start, text, word)
            return
        if (name := _part_that_is_set(text)) is not None:
            self.variables[name] = Unknown(f"{name}, whose parts are set one by one")
            return
        try:
            found = read_statement(text, self.variables)
        except Unreadable as error:
            shown = f"{first.text if first else ''} …"
            fate = Fate.REFUSED if calls_ours(text) else Fate.ATTENTION
            yield Note(self.offset + start + error.at, fate, shown, f"{error.text}: it is not read")
            return
        if isinstance(found, Assignment) and _MAKES_CONTEXT.search(text):
            self.variables[found.variable] = ActionPairs()
        elif isinstance(found, Assignment):
            self.variables[found.variable] = found.value
            function = read_function(text, self.variables)
            if function is not None and CALL.match(function.name):
                yield Call(function.name, function.arguments, self.offset + start + function.at)
        elif (changed := changed_context(found.name, self.variables)) is not None:
            changed[0].change(changed[1], found.arguments)
        else:
            yield Call(found.name, found.arguments, self.offset + start + found.at)

    def _other(self, start: int, text: str, word: str) -> Iterator[Note]:
        """Forget the variables that a statement of SQL sets; note what else it does."""
        for name in selected_variables(text):
            self.variables[name] = Unknown(f"{name}, which a query gives")
        for name in stored_contexts(text):
            self.variables[name] = ActionPairs(is_added=True)
        values = [self.variables.get(one.word) for one in tokens(text)] if word == "EXECUTE" else []
        if word in ("SELECT", "FETCH"):
            return
        if calls_ours(" ".join([text, *(one for one in values if isinstance(one, str))])):
            what = " ".join(text.split())[:40]
            yield Note(
                self.offset + start, Fate.REFUSED, what, "it is built when the script runs: write the call itself"
            )
        elif word == "EXECUTE" and LOGGING.search(text):
            yield Note(self.offset + start, Fate.SAFE, "SUPPLEMENTAL LOG", WHY_LOGGING)
        elif word == "EXECUTE":
            yield Note(self.offset + start, Fate.ATTENTION, "EXECUTE IMMEDIATE", "its statement is not read")

    def _compound(self, token: Token) -> Iterator[Note]:
        """Skip IF, LOOP and the like: what is called in them depends on the run."""
        start, depth, before = token.start, 0, ""
        while self.at < len(self.found):
            word = self.found[self.at].word
            if word in ("IF", "LOOP", "CASE", "BEGIN") and before != "END":
                depth += 1
            elif word == "END":
                depth -= 1
            self.at += 1
            if word == ";" and depth == 0 and before in ("IF", "LOOP", "CASE", "END"):
                break
            before = word
        end = self.found[self.at - 1].start
        self._forget(self.text[start:end])
        entry = worst_call(self.text[start:end])
        if entry is not None and entry.fate is not None:
            yield self._note(token, entry.fate, f"{token.word} …", entry.why)

    def _skip_statement(self) -> int:
        """Go past the next semicolon. Return where it stands."""
        while self.at < len(self.found):
            token = self.found[self.at]
            self.at += 1
            if token.text == ";":
                return token.start
        return len(self.text)

    def _handlers(self, token: Token) -> Iterator[Note]:
        """Go to the END of a block from its EXCEPTION on; what is called in between depends on errors."""
        depth, before = 0, ""
        while self.at < len(self.found):
            word = self.found[self.at].word
            if word == "END" and depth == 0:
                break
            if word in ("IF", "LOOP", "CASE", "BEGIN") and before != "END":
                depth += 1
            depth -= word == "END"
            before = word
            self.at += 1
        handlers = self.text[token.start : self.found[self.at].start if self.at < len(self.found) else len(self.text)]
        self._forget(handlers)
        entry = worst_call(handlers)
        if entry is not None and entry.fate is not None:
            fate = max(entry.fate, Fate.ATTENTION, key=list(Fate).index)
            why = "what is called in it, after an error, is not read: write the calls themselves, or take them out"
            yield self._note(token, fate, "EXCEPTION …", why)

    def _forget(self, text: str) -> None:
        contexts = {name for name, one in self.variables.items() if isinstance(one, ActionPairs)}
        for name in contexts:
            skip(name, self.variables[name], text, self.variables)
        for name in set(assigned_variables(text)) - contexts:
            self.variables[name] = Unknown(f"{name}, which is set where the run decides about it")

    def _note(self, token: Token, fate: Fate, what: str, why: str) -> Note:
        return Note(self.offset + token.start, fate, what, why)


def calls_ours(text: str) -> bool:
    """Does a text call a package of Streams in a way that is not harmless?"""
    entry = worst_call(text)
    return entry is not None and entry.fate is not Fate.SAFE


def worst_call(text: str) -> Entry | None:
    """Return what becomes of the call of skipped statements that is missed most; None when they call nothing."""
    found = list(tokens(text))
    entries = [_DEPENDS for one in found if one.kind in (STRING, Kind.OPEN) for _ in _decisive(one.text)]
    for package, sign, name in zip(found, found[1:], found[2:], strict=False):
        if sign.text == "." and FAMILY.fullmatch(package.text.strip('"')):
            entries.append(_entry(package.text, name.text))
    return max(entries, key=lambda one: list(Fate).index(one.fate or Fate.SAFE), default=None)


def _built_calls(found: list[Token]) -> Iterator[Token]:
    """Yield the texts in quotes that hold a call of Streams, but for those that are printed."""
    first = before = ""
    for token in found:
        if before in ("", ";", "BEGIN", "THEN", "ELSE", "LOOP"):
            first = token.word
        is_built = token.kind is STRING and first != "DBMS_OUTPUT" and BUILT.search(token.text)
        if is_built and any(_decisive(token.text)):
            yield token
        before = token.word or "…"


def _decisive(text: str) -> Iterator[Entry]:
    """Yield an entry for each call in a text in quotes that is not harmless."""
    found = (_entry(call[1], call[2]) for call in CALL.finditer(text))
    yield from (one for one in found if one.fate is not Fate.SAFE)


def _entry(package: str, name: str) -> Entry:
    return OTHER.get(f"{package}.{name}".replace('"', "").upper(), _DEPENDS)


def _part_that_is_set(text: str) -> str | None:
    """Return the name of the collection or record of which a statement sets one part; None for other statements."""
    found = list(tokens(text))
    setting = next((at for at, one in enumerate(found) if one.word == ":="), None)
    if setting is None or setting < 2 or found[0].text == ":":
        return None
    return found[0].word or found[0].text


_ENDS = frozenset({"FROM", "WHERE", "USING", "BULK", "LIMIT", "VALUES", ";"})


def selected_variables(text: str) -> Iterator[str]:
    """Yield the variables behind INTO and OUT of a statement of SQL; those of SQL*Plus with their colon."""
    found = list(tokens(text))
    for at, token in enumerate(found):
        if token.word == "INTO" and not (at and found[at - 1].word in ("INSERT", "MERGE")):
            yield from _names(found[at + 1 :])
        elif token.word == "OUT":
            yield from _names(found[at + 1 : at + 3])


def assigned_variables(text: str) -> Iterator[str]:
    """Yield the variables that statements set: by assignments, queries, and what calls give back by name."""
    found = list(tokens(text))
    for before, token, after in zip(found, found[1:], [*found[2:], None], strict=False):
        if token.word == ":=" and before.kind in (WORD, NAME):
            yield _name(before)
        elif before.word == "=>" and token.kind in (WORD, NAME) and after and after.word in (",", ")"):
            yield _name(token)
    for at, token in enumerate(found):
        if token.word == ")" and at + 1 < len(found) and found[at + 1].word == ":=":
            yield _collection(found[: at + 1])
    yield from selected_variables(text)


def _names(found: list[Token]) -> Iterator[str]:
    before = ""
    for token in found:
        if token.word in _ENDS:
            return
        if token.kind in (WORD, NAME):
            yield f":{_name(token)}" if before == ":" else _name(token)
        before = token.text


def _collection(found: list[Token]) -> str:
    """Return the name before the parenthesis that the last token closes."""
    depth = 0
    for at in range(len(found) - 1, 0, -1):
        depth += (found[at].text == ")") - (found[at].text == "(")
        if depth == 0:
            return _name(found[at - 1])
    return ""


def _name(token: Token) -> str:
    return token.word or token.text
