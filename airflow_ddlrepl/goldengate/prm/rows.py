"""Read the options of TABLE and MAP about rows, and the parameters that hold for each TABLE and MAP behind them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lark import Token, Tree

from airflow_ddlrepl.goldengate.prm.arguments import Parsed
from airflow_ddlrepl.goldengate.prm.conditions import (
    Translated,
    Untranslatable,
    translate_condition,
    translate_expression,
)
from airflow_ddlrepl.goldengate.prm.conflicts import read_conflicts
from airflow_ddlrepl.goldengate.prm.lists import column_names, in_parentheses, split_list
from airflow_ddlrepl.goldengate.prm.other_parameters import harmless
from airflow_ddlrepl.goldengate.prm.statements import Statement
from airflow_ddlrepl.goldengate.prm.vocabulary.map_options import MAP_OPTIONS
from airflow_ddlrepl.model.settings.row_kind import RowKind
from airflow_ddlrepl.notation.condition.expression import Joined, OfChange, Part, Truth
from airflow_ddlrepl.notation.condition.parser import condition, expression, spelled
from airflow_ddlrepl.notation.import_findings import Fate
from airflow_ddlrepl.sql import lexical

_KINDS = {f"{kind.value}S": kind for kind in RowKind} | {"TRUNCATES": RowKind.TRUNCATE}
_ENTRY = re.compile(rf"\s*({lexical.NAME}|[A-Za-z_][\w$#]*)\s*=\s*")
_ELSEWHERE = {
    "TABLE": {
        "COLMAP": (Fate.REFUSED, "columns are mapped by MAP of a Replicat alone: write it there"),
        "KEYCOLS": (Fate.SAFE, "what is logged of old rows follows from what the targets need"),
        "RESOLVECONFLICT": (Fate.ATTENTION, "is an option of MAP: it does nothing at TABLE, write it there"),
        "COMPARECOLS": (Fate.ATTENTION, "is an option of MAP: it does nothing at TABLE, write it there"),
        "INSERTALLRECORDS": (Fate.ATTENTION, "is an option of MAP: it does nothing at TABLE, write it there"),
        "NOINSERTALLRECORDS": (Fate.SAFE, "is an option of MAP: it does nothing at TABLE, write it there"),
    },
    "MAP": dict.fromkeys(("COLS", "COLSEXCEPT"), (Fate.REFUSED, "is an option of TABLE: write it there, or COLMAP")),
}
"""Options that do nothing, or nothing here, at this side."""
_OPTYPE = "@GETENV ('GGHEADER', 'OPTYPE')"

Find = Callable[[int, Fate, str, str], None]
Values = dict[str, Any]


@dataclass(slots=True)
class Switches:
    """The switches are what GETINSERTS, IGNOREDELETES, INSERTALLRECORDS and the like have set so far in the file.

    is_ansi: USEANSISQLQUOTES or NOUSEANSISQLQUOTES say so for the whole file; None: neither does.
    """

    ignored: list[RowKind] = field(default_factory=list)
    inserts_all: bool = False
    is_ansi: bool | None = None

    def read(self, name: str) -> bool:
        """Set what a parameter sets; return whether it is one of these."""
        found = re.fullmatch(r"(GET|IGNORE)(\w+)", name)
        kind = _KINDS.get(found[2]) if found else None
        if found and kind is not None:
            self.ignored = [one for one in self.ignored if one is not kind]
            self.ignored += [kind] if found[1] == "IGNORE" else []
        elif name in ("INSERTALLRECORDS", "NOINSERTALLRECORDS"):
            self.inserts_all = name == "INSERTALLRECORDS"
        else:
            return False
        return True


def read_rows(statement: Statement, parsed: Parsed, switches: Switches, find: Find) -> Values:
    """Return what the options of a TABLE or MAP and the switches before it say, as values of the parameter's entry."""
    values: Values = {"ignore": list(switches.ignored)} if switches.ignored else {}
    if statement.name == "MAP" and switches.inserts_all:
        values["insert_all_records"] = True
    for option in parsed.children:
        if isinstance(option, Tree) and option.data == "option" and isinstance(option.children[0], Token):
            _Option(statement, option.children[0], switches, find).read(values)
    return values


class _Option:
    """An option of a TABLE or MAP, with the text in its parentheses."""

    def __init__(self, statement: Statement, token: Token, switches: Switches, find: Find) -> None:
        self.name = str(token).upper()
        self.side = statement.name
        self.switches = switches
        self._find = find
        self._at = statement.start + (token.start_pos or 0)
        self._text, start = in_parentheses(statement.text, token.end_pos or 0)
        self._start = statement.start + start

    def read(self, values: Values) -> None:
        """Read the option into the values; what is not taken is found."""
        elsewhere = _ELSEWHERE[self.side].get(self.name)
        entry = harmless(self.name, self._text) or MAP_OPTIONS[self.name]
        if elsewhere is not None:
            self.find(self._at, *elsewhere)
        elif entry.fate is not None:
            self.find(self._at, entry.fate, entry.why)
        else:
            try:
                self._take(values)
            except Untranslatable as error:
                self.find(self._start + error.at, Fate.REFUSED, error.why)

    def find(self, at: int, fate: Fate, why: str) -> None:
        self._find(at, fate, f"{self.side} … {self.name}", why)

    def _take(self, values: Values) -> None:
        if self.name in ("WHERE", "FILTER"):
            self._add_condition(values)
        elif self.name == "COLMAP":
            values["colmap"] = self._column_map()
        elif self.name in ("COMPARECOLS", "RESOLVECONFLICT"):
            values["conflicts"] = read_conflicts(self.name, self._text, values.get("conflicts", {}))
        elif self.name.endswith("INSERTALLRECORDS"):
            values["insert_all_records"] = self.name == "INSERTALLRECORDS"
        else:
            values[{"KEYCOLS": "keycols", "COLS": "cols", "COLSEXCEPT": "cols_except"}[self.name]] = column_names(
                self._text
            )

    def _add_condition(self, values: Values) -> None:
        """Add a condition to those before it: all have to be true."""
        found = self._doubted(translate_condition(self._text, is_ansi=self.switches.is_ansi is True), 0)
        if isinstance(found, Truth) and found.value:
            self.find(self._at, Fate.ATTENTION, "is always true here, where the log has whole rows: it is left out")
            return
        before = values.get("condition")
        whole: Part = Joined("AND", (condition(before), found)) if before else found
        try:
            values["condition"] = spelled(condition(spelled(whole)))
        except ValueError as error:
            raise Untranslatable(0, str(error)) from None

    def _column_map(self) -> Values:
        columns: dict[str, str] = {}
        found: Values = {}
        for text, at in split_list(self._text):
            if text.strip().upper() in ("USEDEFAULTS", ""):
                found |= {"use_defaults": True} if text.strip() else {}
                continue
            entry = _ENTRY.match(text)
            if entry is None:
                raise Untranslatable(at, f"{text.strip() or 'an entry'} is not of the form column = expression")
            try:
                self._add_column(columns, entry, text, at)
            except Untranslatable as error:
                why = f"{_folded(entry[1])}: {error.why}"
                self.find(self._start + at + entry.end() + error.at, Fate.REFUSED, why)
        return {**found, "columns": columns}

    def _add_column(self, columns: dict[str, str], entry: re.Match[str], text: str, at: int) -> None:
        name = _folded(entry[1])
        if name in columns:
            raise Untranslatable(0, "the column is mapped twice")
        is_ansi = self.switches.is_ansi
        value = translate_expression(text[entry.end() :], is_ansi=entry[1][0] == '"' if is_ansi is None else is_ansi)
        part = self._doubted(value, at + entry.end())
        if isinstance(part, OfChange) and part.name == "operation":
            why = f"{_OPTYPE}: its values are insert, update, delete, truncate and refresh here"
            self.find(self._start + at, Fate.ATTENTION, why)
        try:
            columns[name] = spelled(expression(spelled(part)))
        except ValueError as error:
            raise Untranslatable(0, str(error)) from None

    def _doubted(self, translated: Translated, at: int) -> Part:
        """Return the translation, listing what in double quotes it takes as a text where the file does not say so."""
        for text in translated.in_doubt if self.switches.is_ansi is None else ():
            why = f"{text} is taken as a text: write it in single quotes, or USEANSISQLQUOTES where it is a column"
            self.find(self._start + at, Fate.ATTENTION, why)
        return translated.part


def _folded(name: str) -> str:
    return name[1:-1].replace('""', '"') if name[0] == '"' else name.lower()
