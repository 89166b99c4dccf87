"""A story: one behaviour as plain text. What stood, what was done, what is spotted, what the target does.

    # Rename is not drop + add.
    -- req --       HVR-D-55
    -- policy --    keep_existing_structure: true
    -- old --       create table orders (id int primary key, note text);
    -- do --        alter table orders rename note to remark;
    -- spots --     rename_column note -> remark
    -- postgres --  ALTER TABLE "public"."orders" RENAME COLUMN "note" TO "remark"

`do` runs statement by statement, each ends with a semicolon at the end of a line. In the last section a line may
also be `refresh`, `control`, `warn` or `refuse CODE`; `(own)` before a statement: committed before the rest.
`…` in an expected line stands for anything. An optional section `same` says `rows` (default: after every statement
the target's rows equal the source's), `nothing` where a policy accepts a difference, or `refused`. A line of
`holds` is a query at the target, `=>`, and its one row as text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_SECTION = re.compile(r"^-- (\w+) --[ \t]*", re.MULTILINE)


@dataclass(frozen=True)
class Story:
    """One file."""

    name: str
    title: str
    reqs: tuple[str, ...]
    policy: dict[str, Any]
    old: str
    do: tuple[str, ...]
    spots: tuple[str, ...]
    postgres: tuple[str, ...]
    same: str
    holds: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def read(path: Path) -> Story:
    title, *rest = _SECTION.split(path.read_text())
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    unknown = sections.keys() - {"req", "policy", "old", "do", "spots", "postgres", "same", "holds"}
    assert not unknown, f"{path}: unknown sections {unknown}"
    return Story(
        path.stem,
        title.strip("# \n"),
        tuple(sections.get("req", "").split()),
        yaml.safe_load(sections.get("policy", "")) or {},
        sections.get("old", ""),
        tuple(s.strip() for s in re.split(r";[ \t]*$", sections["do"], flags=re.MULTILINE) if s.strip()),
        _lines(sections.get("spots", "")),
        _lines(sections.get("postgres", "")),
        sections.get("same", "rows").strip(),
        _lines(sections.get("holds", "")),
    )


def stories() -> list[Story]:
    return [read(path) for path in sorted(Path(__file__).parent.glob("*/*.story"))]


def meets(expected: tuple[str, ...], found: list[str]) -> bool:
    if len(expected) != len(found):
        return False
    return all(_pattern(e).fullmatch(f) for e, f in zip(expected, found, strict=True))


def _pattern(line: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in line.split("…")), re.DOTALL)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
