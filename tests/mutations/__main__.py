"""`make mutations`: switch off each listed behaviour in a copy of the tree, and run the tests that must notice it.

    python -m tests.mutations [CHAPTER, ID or word ...]

JOBS: so many at a time, each in a copy of its own (1). *killed*: of each of its requirements a test failed. *survived*:
of a requirement none did, which is open. The exit code is 1 where fewer than 98 of 100 are killed, or one can't be
applied.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue
from threading import Lock
from typing import Any

from tests.mutations.mutated_copy import Broken, MutatedCopy
from tests.mutations.mutation import ROOT, Mutation, Stale, chosen
from tests.requirements_plugin import needs_server

RECORD = ROOT / "var" / "mutations.json"
LEAST = 0.98
Tests = Mapping[str, Mapping[str, Any]]


def tests_of(requirement: str, marked: Tests) -> list[str]:
    """The tests that must notice: on servers where the requirement needs one; those of minutes where no others are."""
    own = [name for name, test in marked.items() if requirement in test["ids"]]
    live = [name for name in own if marked[name]["server"]] if needs_server(requirement) else own
    quick = [name for name in live or own if not marked[name]["long"]]
    return quick or live or own


def named_by(mutation: Mutation, tests: Iterable[str]) -> list[str]:
    """Those of the tests that the mutation names, with all their parameters."""
    places = tuple(mark + sign for mark in mutation.tests for sign in ("[", "::"))
    return [test for test in tests if test in mutation.tests or test.startswith(places)] if places else []


def verdict(mutation: Mutation, copy: MutatedCopy, marked: Tests, unmutated: Tests) -> tuple[str, str]:
    """Run the tests of a mutation; return what became of it, and why."""
    wanted: dict[str, list[str]] = {}
    for requirement in mutation.ids:
        for test in tests_of(requirement, marked):
            if unmutated.get(test, {}).get("outcome") == "passed":
                wanted.setdefault(test, []).append(requirement)
    for test in named_by(mutation, unmutated):
        if unmutated[test]["outcome"] == "passed":
            wanted.setdefault(test, []).append(mutation.name)
    without = set(mutation.proofs) - {name for names in wanted.values() for name in names}
    if without:
        return "survived", f"no test that passes shows {', '.join(sorted(without))}"
    wanted = dict(sorted(wanted.items(), key=lambda item: unmutated[item[0]]["seconds"]))
    try:
        with copy.mutated(mutation):
            found = copy.run(wanted, is_mutated=True)
    except (Stale, SyntaxError, Broken, OSError) as error:
        return "stale", str(error)
    except subprocess.TimeoutExpired:
        return "survived", "its tests came to no end"
    failed = [test for test in found if found[test]["outcome"] == "failed"]
    missed = set(mutation.proofs) - {name for test in failed for name in wanted[test]}
    if missed:
        return "survived", f"no test of {', '.join(sorted(missed))} fails: {', '.join(found)}"
    return "killed", "; ".join(failed)


class Round:
    """Applies mutations one by one, and tells and records what becomes of each."""

    def __init__(self, copies: Sequence[MutatedCopy], marked: Tests, unmutated: Tests) -> None:
        self.free = SimpleQueue[MutatedCopy]()
        for copy in copies:
            self.free.put(copy)
        self.marked, self.unmutated = marked, unmutated
        self.counts: Counter[str] = Counter()
        self.record = json.loads(RECORD.read_text()) if RECORD.is_file() else {}
        self.lock = Lock()

    def run(self, mutation: Mutation) -> None:
        """Find out whether a mutation is killed."""
        copy, began = self.free.get(), time.monotonic()
        try:
            what, why = verdict(mutation, copy, self.marked, self.unmutated)
        finally:
            self.free.put(copy)
        with self.lock:
            self._tell(mutation, what, why, time.monotonic() - began)

    def _tell(self, mutation: Mutation, what: str, why: str, seconds: float) -> None:
        self.counts[what] += 1
        name = f"{mutation.chapter}: {mutation.name}"
        print(f"{what:9}{seconds:5.0f} s  {name} ({', '.join(mutation.ids or mutation.tests)})", flush=True)
        if what != "killed":
            print(f"         {why}", flush=True)
        self.record[name] = {"verdict": what, "ids": mutation.ids, "tests": mutation.tests, "why": why}
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(self.record, indent=1, sort_keys=True))


def main(words: Sequence[str]) -> int:
    wanted = chosen(words)
    with ExitStack() as stack:
        copies = [stack.enter_context(MutatedCopy()) for _ in range(int(os.environ.get("JOBS") or 1))]
        marked = copies[0].marked()
        tests = {test for one in wanted for name in one.ids for test in tests_of(name, marked)}
        tests |= {test for one in wanted for test in one.tests}
        unmutated = copies[0].run({test: [] for test in sorted(tests)}, is_mutated=False) if tests else {}
        for test in sorted(test for test in unmutated if unmutated[test]["outcome"] == "failed"):
            print(f"fails without a mutation: {test}", flush=True)
        found = Round(copies, marked, unmutated)
        with ThreadPoolExecutor(len(copies)) as pool:
            list(pool.map(found.run, wanted))
    counts = found.counts
    print(", ".join(f"{counts[what]} {what}" for what in ("killed", "survived", "stale")))
    return 1 if counts["stale"] or counts["killed"] < LEAST * len(wanted) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
