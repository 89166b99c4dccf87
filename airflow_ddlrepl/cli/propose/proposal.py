"""A proposal says what was found at source and target, what has to be done first, and which commands come next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from airflow_ddlrepl.cli.propose.channel_text import MANY_TABLES, SCHEMA_FILE, described, in_bytes
from airflow_ddlrepl.cli.propose.found_tables import Survey
from airflow_ddlrepl.engines.source_catalog import RelationKind
from airflow_ddlrepl.errors import Exit
from airflow_ddlrepl.model.installation import Problem
from airflow_ddlrepl.visible import as_lines, one_line

MOST_PROBLEMS = 20
WITHOUT_TRIGGERS = """\
Without a superuser at the source there are no event triggers. The channel works without them, and this is lost:
  - a schema change has its place at the next row of its table, or at the end of the cycle; not where it happened;
  - several changes between two cycles count as one; where the rows don't show their shape, the table is loaded;
  - a renamed column is known as renamed, marked ambiguous; the text of a statement is not known;
  - a table that is created later joins at the next cycle, by a load;
  - after a table has lost its key, the server refuses UPDATE and DELETE there until the next cycle;
  - a statement that changes rows and no shape (ALTER … TYPE int USING a + 1 of an int) is not noticed.
A superuser who runs `ddlrepl activate --no-refresh` once changes that; a small role goes on (docs/postgresql.md)."""
_NOT_REPLICATED = (
    RelationKind.FOREIGN_TABLE,
    RelationKind.EXTENSION_TABLE,
    RelationKind.VIEW,
    RelationKind.MATERIALIZED_VIEW,
    RelationKind.SEQUENCE,
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal is a channel file that was written, and what belongs to it.

    variables: that have to be in the environment where ddlrepl runs. command: `ddlrepl`, or `airflow ddlrepl`.
    """

    file: Path
    channel: str
    found: Survey
    variables: tuple[str, ...]
    command: str = "ddlrepl"

    @property
    def exit_code(self) -> Exit:
        """Return that of the target's error when it could not be asked, FAILED when something is missing, else DONE."""
        if self.found.there.away is not None:
            return self.found.there.away.exit_code
        return Exit.DONE if self.found.is_ready else Exit.FAILED

    @property
    def commands(self) -> tuple[str, str]:
        """Return the next two commands."""
        return f"{self.command} activate {self.file}", f"{self.command} replicate {self.file}"

    def to_json(self) -> dict[str, Any]:
        """Return the proposal as JSON values."""
        found, away = self.found, self.found.there.away
        return {
            "file": str(self.file),
            "channel": self.channel,
            "source": {"at": found.source, **asdict(found.profile)},
            "tables": [{**asdict(one), "name": str(one.name)} for one in found.tables],
            "others": dict(Counter(str(one.kind) for one in found.others)),
            "missing_at_source": [asdict(one) for one in found.missing],
            "missing_at_target": [asdict(one) for one in found.there.missing],
            "warnings": [asdict(one) for one in found.warnings],
            "target_unreachable": None if away is None else away.message,
            "environment": list(self.variables),
            "next": list(self.commands),
        }

    def text(self) -> str:
        """Return the proposal for a person; SQL that is to be run stands in lines of its own."""
        lines = [*self._found(), *self._left_out(), *self._notes()]
        if not self.found.profile.is_administrator:
            lines += ["", *WITHOUT_TRIGGERS.splitlines()]
        return as_lines([*lines, *self._missing(), "", *self._next()])

    def _found(self) -> Iterator[str]:
        found, profile = self.found, self.found.profile
        rights = "superuser" if profile.is_administrator else "no superuser"
        yield f"source  {found.source}: {profile.version}, {profile.log}, role {profile.role} ({rights})"
        away = found.there.away
        yield f"target  {found.there.detail or (away.message if away else '')}"
        size = in_bytes(sum(one.size for one in found.tables))
        yield f"tables  {len(found.tables):,}, about {sum(one.rows for one in found.tables):,} rows, {size}"
        largest = sorted(found.tables, key=lambda one: (-one.size, one.name))
        yield from (f"          {one.name}: {described(one)}" for one in largest[:MANY_TABLES])
        if len(largest) > MANY_TABLES:
            yield f"          and {len(largest) - MANY_TABLES:,} smaller ones"

    def _left_out(self) -> Iterator[str]:
        """Yield what is not replicated, and why."""
        out = [(str(one.name), one.refused or one.left_out) for one in self.found.tables if one.refused or one.left_out]
        for kind in _NOT_REPLICATED:
            names = [str(one.name) for one in self.found.others if one.kind is kind]
            if names:
                more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
                what = "`db_sequence: true` takes them" if kind is RelationKind.SEQUENCE else "a target gets none"
                out.append((f"{len(names):,} {kind}{'s' * (len(names) > 1)}", f"{', '.join(names[:3])}{more}: {what}"))
        if out:
            yield from ("", "Not replicated:", *_listed([f"{name}: {why}" for name, why in out]))

    def _notes(self) -> Iterator[str]:
        notes = [f"{one.name}: {note}" for one in self.found.tables for note in one.notes]
        notes += [f"target: {text}: computed values may differ" for text in self.found.there.told]
        notes += [f"source: {one.what}; {one.fix}" for one in self.found.warnings]
        if notes:
            yield from ("", "To know:", *_listed(notes))

    def _missing(self) -> Iterator[str]:
        places = (("source", self.found.missing), ("target", self.found.there.missing))
        for place, problems in places:
            if problems:
                yield from ("", f"Missing at the {place}; its administrator runs:", *_statements(problems))
        if self.found.there.away is not None:
            away = self.found.there.away
            yield from ("", f"The target could not be asked: {away.message} ({away.code})", f"  {one_line(away.hint)}")

    def _next(self) -> Iterator[str]:
        yield f"{self.file} is written, and {SCHEMA_FILE} beside it, by which editors complete and check it."
        if self.variables:
            yield "The file has no password. Wherever ddlrepl, Airflow's workers or Spark run, set"
            yield from (f"  export {name}=…" for name in self.variables)
            yield "percent-encoded, as in a URL (@ is %40, / is %2F)."
        yield "Next:" if self.found.is_ready else "When that is done:"
        what = ("# prepares the source, and loads the tables", "# brings what has changed since")
        width = max(map(len, self.commands))
        yield from (f"  {line.ljust(width)}  {note}" for line, note in zip(self.commands, what, strict=True))


def _listed(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"  {line}" for line in lines[:MOST_PROBLEMS])
    if len(lines) > MOST_PROBLEMS:
        yield f"  and {len(lines) - MOST_PROBLEMS:,} more; --json has them all"


def _statements(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield each problem as a comment of SQL, and what solves it."""
    for problem in problems[:MOST_PROBLEMS]:
        yield f"  -- {one_line(problem.what)}"
        is_sql = problem.fix.startswith(("ALTER ", "GRANT ", "REVOKE ", "SELECT ", "CREATE ", "--"))
        yield f"  {problem.fix}" if is_sql else f"  -- {problem.fix}"
    if len(problems) > MOST_PROBLEMS:
        yield f"  -- and {len(problems) - MOST_PROBLEMS:,} more; --json has them all"
