"""What the target of an apply process is to have after each transaction: rows, what its handlers and triggers noted.

Tables of the source, and what becomes of their changes at the target:

| hr.t | applied as they are; the target refuses a `k` of 1000 and more |
| hr.w | renamed to hr.v, `note` to `remark` |
| hr.n | applied as they are; `k` is unique |
| hr.b | applied as they are; it has no key, and equal rows |
| hr.u | a handler applies and notes each |
| hr.e | an error handler notes those that can't be applied |
| hr.g | a trigger notes each, with how many rows hr.t has then (not where sessions work side by side) |
| hr.s | rows with `k < 50` alone |
| hr.x | not taken |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import md5
from typing import Any

from airflow_ddlrepl.streams.messages import Command, RowLcr

WITH_KEY, ALL = "twnuegsx", "twnbuegsx"
LIMIT, OUTSIDE = 1000, 50
THEIRS = "theirs"
"""The note of rows that the target has of its own: they refuse the source's inserts."""
AT_SOURCE = (
    "CREATE SCHEMA hr",
    *(f"CREATE TABLE hr.{name} (id int PRIMARY KEY, k int NOT NULL, note text NOT NULL)" for name in WITH_KEY),
    "CREATE TABLE hr.b (id int NOT NULL, k int NOT NULL, note text NOT NULL)",
    "ALTER TABLE hr.n ADD UNIQUE (k)",
    "ALTER TABLE hr.b REPLICA IDENTITY FULL",
    "ALTER TABLE hr.s REPLICA IDENTITY FULL",
)
AT_TARGET = (
    *AT_SOURCE,
    f"ALTER TABLE hr.t ADD CHECK (k < {LIMIT})",
    "ALTER TABLE hr.w RENAME TO v; ALTER TABLE hr.v RENAME note TO remark",
    "CREATE TABLE public.noted (what text)",
    """CREATE FUNCTION public.fires() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO public.noted SELECT concat_ws(' ', 'fired', TG_OP, coalesce(NEW.id, OLD.id), count(*)) FROM hr.t
    WHERE note <> 'theirs' AND (SELECT looks FROM public.looks); RETURN NULL; END $$""",
    "CREATE TABLE public.looks AS SELECT true AS looks",
    "CREATE TRIGGER fires AFTER INSERT OR UPDATE OR DELETE ON hr.g FOR EACH ROW EXECUTE FUNCTION public.fires()",
    "ALTER TABLE hr.g ENABLE ALWAYS TRIGGER fires",
)
_ROWS = """(SELECT string_agg(concat_ws(',', id, k, {note}), ';' ORDER BY id, k, {note} COLLATE "C")
FROM hr.{name} WHERE {note} <> 'theirs')"""
_NOTED = "(SELECT string_agg(what, ';' ORDER BY what COLLATE \"C\") FROM public.noted)"
_TEXTS = (_ROWS.format(name="v", note="remark") if n == "w" else _ROWS.format(name=n, note="note") for n in ALL)
_KNOWN = ", ".join(f"coalesce({one}, '')" for one in (*_TEXTS, _NOTED))
LOOK = f"SELECT md5(concat_ws('|', {_KNOWN}))"
"""What a reader of the target sees at one moment, as `Model.seen` has it."""


def noted(lcr: RowLcr, apply: Any) -> None:
    """Apply a change, and note it."""
    apply.execute(lcr)
    apply.sql("INSERT INTO public.noted VALUES (%s)", f"handled {lcr.command} {(lcr.new or lcr.old)['id']}")


def noted_error(lcr: RowLcr, apply: Any) -> None:
    """Note a change that can't be applied."""
    apply.sql("INSERT INTO public.noted VALUES (%s)", f"refused {lcr.command} {(lcr.new or lcr.old)['id']}")


def noted_commit(_: int, apply: Any) -> None:
    """Note the end of a transaction."""
    apply.sql("INSERT INTO public.noted VALUES ('commit')")


@dataclass(frozen=True)
class Change:
    """One row is inserted, updated, moved to another key (`to`) or deleted.

    k, note: its new values, also where it only moves: a log has all values of the new row, and the target's row gets
    them. before: its `k` before that. A row of hr.b is found by all of its old values, and `to` is its new `k`.
    """

    table: str
    command: Command
    id: int
    k: int = 0
    note: str = ""
    to: int = 0
    before: int = 0

    @property
    def statement(self) -> str:
        """What the source says; of equal rows it changes one."""
        name = f"hr.{self.table}"
        if self.command is Command.INSERT:
            return f"INSERT INTO {name} (id, k, note) VALUES ({self.id}, {self.k}, '{self.note}')"
        if self.table == "b":
            same = f"id = {self.id} AND k = {self.k} AND note = '{self.note}'"
            where = f"ctid = (SELECT ctid FROM {name} WHERE {same} LIMIT 1)"
            changed = f"k = {self.to}"
        else:
            where = f"id = {self.id}"
            changed = f"id = {self.to}" if self.to else f"k = {self.k}, note = '{self.note}'"
        if self.command is Command.UPDATE:
            return f"UPDATE {name} SET {changed} WHERE {where}"
        return f"DELETE FROM {name} WHERE {where}"

    @property
    def key(self) -> int:
        """The key of the row when it is changed."""
        return self.to if self.to and self.table != "b" else self.id


class Refused(Exception):
    """The target refuses a change."""


@dataclass
class Model:
    """Rows by table and key, those of hr.b with how many there are, and what is noted.

    notes_commits: is there a precommit handler? is_in_order: does a trigger see all transactions before its own?
    """

    rows: dict[str, dict[int, tuple[int, str]]] = field(default_factory=lambda: {name: {} for name in WITH_KEY})
    bag: Counter[tuple[int, int, str]] = field(default_factory=Counter)
    noted: list[str] = field(default_factory=list)
    notes_commits: bool = False
    is_in_order: bool = True
    _known: dict[str, str] = field(default_factory=dict)

    def after(self, changes: Sequence[Change], *, is_ddl: bool = False) -> Model | None:
        """What the target has after a transaction; None: it refuses it."""
        touched = {one.table for one in changes}
        rows = {name: dict(found) if name in touched else found for name, found in self.rows.items()}
        known = {name: text for name, text in self._known.items() if name not in touched}
        found = replace(self, rows=rows, bag=self.bag.copy(), noted=[*self.noted], _known=known)
        try:
            count = sum(found._apply(one) for one in changes)
        except Refused:
            return None
        if self.notes_commits and (count or is_ddl):
            found.noted.append("commit")
        return found

    def at_source(self, change: Change) -> None:
        """Do a change as the source does it."""
        if change.table == "b":
            self._of_bag(change)
        else:
            self._of_key(change.table, change)

    def _apply(self, change: Change) -> bool:
        """Do a change as the target does it; return whether its rules take it."""
        match change.table:
            case "x":
                return False
            case "b":
                self._of_bag(change)
            case "s":
                return self._of_subset(change)
            case "e":
                self._with_error_handler(change)
            case name:
                if name == "t" and change.command is not Command.DELETE and change.k >= LIMIT:
                    raise Refused
                self._of_key(name, change)
        if change.table == "u":
            self.noted.append(f"handled {change.command} {change.key}")
        elif change.table == "g":
            count = sum(note != THEIRS for _, note in self.rows["t"].values()) if self.is_in_order else 0
            self.noted.append(f"fired {change.command} {change.key} {count}")
        return True

    def _of_bag(self, change: Change) -> None:
        row = (change.id, change.k, change.note)
        if change.command is Command.INSERT:
            self.bag[row] += 1
            return
        if not self.bag[row]:
            raise Refused
        self.bag[row] -= 1
        if change.command is Command.UPDATE:
            self.bag[change.id, change.to, change.note] += 1

    def _of_key(self, name: str, change: Change) -> None:
        rows = self.rows[name]
        if (change.id in rows) is (change.command is Command.INSERT):
            raise Refused
        sets_unique = name == "n" and change.command is not Command.DELETE
        if sets_unique and any(k == change.k for id_, (k, _) in rows.items() if id_ != change.id):
            raise Refused
        if change.to and change.to in rows:
            raise Refused
        if change.command is Command.INSERT:
            rows[change.id] = (change.k, change.note)
            return
        del rows[change.id]
        if change.command is Command.UPDATE:
            rows[change.key] = (change.k, change.note)

    def _with_error_handler(self, change: Change) -> None:
        try:
            self._of_key("e", change)
        except Refused:
            self.noted.append(f"refused {change.command} {change.key}")

    def _of_subset(self, change: Change) -> bool:
        """Rows come into the subset and leave it: an update that does is an insert or a delete."""
        was = change.before < OUTSIDE and change.command is not Command.INSERT
        comes = change.k < OUTSIDE and change.command is not Command.DELETE
        if was and comes:
            self._of_key("s", change)
        elif was or comes:
            self._of_key("s", replace(change, command=Command.DELETE if was else Command.INSERT))
        return was or comes

    def seen(self) -> str:
        """What a reader sees at one moment."""
        return md5("|".join(self._texts()).encode()).hexdigest()

    def _texts(self) -> Iterator[str]:
        for name in ALL:
            if name not in self._known:
                rows = [(id_, *row) for id_, row in self.rows[name].items()] if name != "b" else [*self.bag.elements()]
                texts = (f"{id_},{k},{note}" for id_, k, note in sorted(rows) if note != THEIRS)
                self._known[name] = ";".join(texts)
            yield self._known[name]
        yield ";".join(sorted(self.noted))
