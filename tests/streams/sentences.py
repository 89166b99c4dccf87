"""Examples of the documentation of Oracle Streams: a script, the conditions of its rules, and changes in words.

    # Row LCRs of hr.locations, from one source database.
    -- req --      ST-S-85
    -- client --   apply APPLY
    -- script --   BEGIN DBMS_STREAMS_ADM.ADD_TABLE_RULES( … ); END; /
    -- rules --    (((:dml.get_object_owner() = 'HR' …
    -- takes --    A row is inserted into the hr.locations table.
    -- ignores --  A column is added to the hr.locations table.

All of it but the title is the documentation's own text; the conditions stand in the order of the rules. A sentence is a
change of the source: as LCRs, and as the statement of PostgreSQL that makes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from airflow_ddlrepl.streams.messages import Message
from tests.streams.making import ddl, row

FOLDER = Path(__file__).parent / "examples"
PARTS = {"hr.loc_city_ix": "hr.locations", "hr.update_job_history": "hr.employees"}
"""The tables that the index and the trigger of the examples belong to."""
HOW_MANY = {"a": 1, "five": 5, "twenty": 20}
_SECTION = re.compile(r"^-- (\w+) --[ \t]*", re.MULTILINE)
_ROWS = re.compile(r"(\w+) rows? (?:is|are) (inserted into|deleted from|updated in) the (\S+) table\.")
_MOVED = re.compile(
    r"A row is updated in the (\S+) table where the old (\w+) is (\d+) and the new value of \w+ is (\d+)\."
)
_STAYING = re.compile(
    r"A row is updated in the (\S+) table where the (\w+) was (\d+) before the update"
    r" and remains (\d+) after the update\."
)
_DDL = {
    re.compile(r"The (\S+) table is truncated\."): ("TRUNCATE TABLE", "TRUNCATE {0}"),
    re.compile(r"The (\S+) index is altered\."): ("ALTER INDEX", "ALTER INDEX {0} SET (fillfactor = 90)"),
    re.compile(r"The (\S+) trigger is altered\."): ("ALTER TRIGGER", "ALTER TRIGGER {1} ON {2} RENAME TO {1}_2"),
    re.compile(r"A column is added to the (\S+) table\."): ("ALTER TABLE", "ALTER TABLE {0} ADD more int"),
}
_NEW_TABLE = re.compile(r"A new table named (\w+) is created in the (\w+) schema\.")
_BECOMES = re.compile(r"This update is transformed into an? (insert|delete)\.")
_COMMANDS = {"inserted into": "INSERT", "deleted from": "DELETE", "updated in": "UPDATE"}


RULE_SETS = """
    None | None | Performs its task for all messages
    None | Exists with rules | Performs its task for messages that evaluate to TRUE
    Exists with rules | None | Discards messages that evaluate to TRUE
    Exists with rules | Exists with rules | Discards messages that evaluate to TRUE
    Exists but is empty | None | Performs its task for all messages
    Exists but is empty | Exists with rules | Performs its task for messages that evaluate to TRUE
    None | Exists but is empty | Discards all messages
    Exists but is empty | Exists but is empty | Discards all messages
    Exists with rules | Exists but is empty | Discards all messages
    """
"""Negative rule set, positive rule set, behaviour of the client: table 5-1 of the documentation."""
TRUE_FOR = {"positive": "ab", "negative": "bd"}
"""Of four messages a to d those that the rules of a rule set are true for."""


def combinations() -> list[tuple[str, str, str, str]]:
    """The nine combinations of rule sets: requirement, the two rule sets, and which of a to d are taken."""
    found = []
    for number, line in enumerate(RULE_SETS.strip().splitlines(), 33):
        negative, positive, behaviour = (part.strip() for part in line.split("|"))
        taken = {
            "Performs its task for all messages": "abcd",
            "Performs its task for messages that evaluate to TRUE": TRUE_FOR["positive"],
            "Discards messages that evaluate to TRUE": "".join(set("abcd") - set(TRUE_FOR["negative"])),
            "Discards all messages": "",
        }[behaviour]
        if positive == "Exists with rules":
            taken = "".join(set(taken) & set(TRUE_FOR["positive"]))
        found.append((f"ST-R-{number}", negative, positive, "".join(sorted(taken))))
    return found


@dataclass(frozen=True)
class Change:
    """A change of the source. becomes: the command of its LCR as a client leaves it; empty: a statement of DDL."""

    table: str
    command: str
    statement: str
    count: int = 1
    becomes: str = ""
    old: dict[str, int] = field(default_factory=dict)
    new: dict[str, int] = field(default_factory=dict)

    def messages(self) -> list[Message]:
        """The LCRs: one for each row, one for a statement of DDL."""
        if not self.becomes:
            return [ddl(self.table, self.command, base=PARTS.get(self.table))]
        old, new = ({name.upper(): value for name, value in image.items()} for image in (self.old, self.new))
        return [row(self.table, self.command, old, new)] * self.count


def change(sentence: str) -> Change:
    """The change that a sentence describes."""
    if found := _ROWS.fullmatch(sentence):
        count, command, table = HOW_MANY[found[1].lower()], _COMMANDS[found[2]], found[3]
        statement = {
            "INSERT": f"INSERT INTO {table} SELECT 100 + i FROM generate_series(1, {count}) i",
            "DELETE": f"DELETE FROM {table} WHERE id <= {count}",
            "UPDATE": f"UPDATE {table} SET note = 'new' WHERE id <= {count}",
        }[command]
        return Change(table, command, statement, count, command)
    if found := _MOVED.fullmatch(sentence):
        table, column, old, new = found.groups()
        statement = f"UPDATE {table} SET {column} = {new} WHERE {column} = {old}"
        return Change(table, "UPDATE", statement, 1, "UPDATE", {column: int(old)}, {column: int(new)})
    if found := _STAYING.fullmatch(sentence):
        table, column, old, new = found.groups()
        statement = f"UPDATE {table} SET note = 'new' WHERE {column} = {old}"
        return Change(table, "UPDATE", statement, 1, "UPDATE", {column: int(old)}, {column: int(new)})
    if found := _NEW_TABLE.fullmatch(sentence):
        table = f"{found[2]}.{found[1]}"
        return Change(table, "CREATE TABLE", f"CREATE TABLE {table} (id int PRIMARY KEY)")
    for pattern, (command, text) in _DDL.items():
        if found := pattern.fullmatch(sentence):
            name = found[1]
            return Change(name, command, text.format(name, name.partition(".")[2], PARTS.get(name)))
    raise ValueError(f"this sentence describes no change that is known: {sentence}")


def changes(lines: str) -> tuple[Change, ...]:
    """The changes of a list. A line that begins with `This` says more of the change before it."""
    found: list[Change] = []
    for line in lines.strip().splitlines():
        if into := _BECOMES.fullmatch(line):
            found[-1] = replace(found[-1], becomes=into[1].upper())
        elif not line.startswith("This change is "):
            found.append(change(line))
    return tuple(found)


@dataclass(frozen=True)
class Example:
    """One file. kind and client: of the client that the script is about."""

    name: str
    reqs: tuple[str, ...]
    kind: str
    client: str
    script: str
    rules: tuple[str, ...]
    takes: tuple[Change, ...]
    ignores: tuple[Change, ...]


def read(name: str) -> Example:
    _, *rest = _SECTION.split((FOLDER / f"{name}.txt").read_text())
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    kind, client = sections["client"].split()
    return Example(
        name,
        tuple(sections["req"].split()),
        kind,
        client,
        sections["script"],
        tuple(sections["rules"].strip().splitlines()),
        changes(sections.get("takes", "")),
        changes(sections.get("ignores", "")),
    )


def examples() -> list[Example]:
    return [read(path.stem) for path in sorted(FOLDER.glob("*.txt"))]
