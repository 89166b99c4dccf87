"""`make requirements`: which requirements have a passing test, which a failing one, which none."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path

from tests.requirements_plugin import RECORD, read_record

CATALOGUE = Path(__file__).with_name("requirements.csv")


def catalogue() -> dict[str, str]:
    """What each requirement says, by ID."""
    with CATALOGUE.open(newline="", encoding="utf-8") as file:
        return {row["id"]: row["behaviour"] for row in csv.DictReader(file)}


def outcomes() -> dict[str, Counter[str]]:
    """passed, failed and skipped tests by requirement."""
    found: dict[str, Counter[str]] = {}
    for test in read_record().values():
        for name in test["ids"]:
            found.setdefault(name, Counter())[test["outcome"]] += 1
    return found


def state(counts: Counter[str]) -> str:
    if counts["failed"]:
        return "failing"
    return "shown" if counts["passed"] else "open"


def main() -> int:
    known, found = catalogue(), outcomes()
    states = {name: state(found.get(name, Counter())) for name in known}
    chapters: dict[str, list[str]] = {}
    for name in known:
        chapters.setdefault(name.rpartition("-")[0], []).append(name)
    if not found:
        print(f"no test run is recorded yet ({RECORD.name}): run `make test` first", file=sys.stderr)
    print(f"{'chapter':10}{'IDs':>6}{'shown':>8}{'failing':>9}{'open':>7}")
    for chapter, names in chapters.items():
        counts = Counter(states[name] for name in names)
        print(f"{chapter:10}{len(names):6}{counts['shown']:8}{counts['failing']:9}{counts['open']:7}")
    total = Counter(states.values())
    print(f"{'all':10}{len(known):6}{total['shown']:8}{total['failing']:9}{total['open']:7}")
    for wanted in ("shown", "failing"):
        names = [name for name in known if states[name] == wanted]
        if names:
            print(f"\n{wanted}:")
            print("\n".join(f"  {name:9} {known[name]}" for name in names))
    return 1 if total["failing"] else 0


if __name__ == "__main__":
    sys.exit(main())
