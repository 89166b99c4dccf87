"""`make requirements`: how passing tests show each requirement, which ones fail, and which ones are open.

*live*: by a test that ran the product on a real server, or by any test where the catalogue says that the requirement is
about text alone. *pure*: by functions of the product without a server, though the requirement is about what happens in
a database. *modelled*: only by the tests of HVR's decision table (`docs/tools/hvr`), which say what becomes of a
statement of any database without one that runs it. *not run*: by tests that the last runs left out, as continuous
integration does with a part of the thorough ones. *open*: by no test.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from tests.requirements_plugin import NOT_RUN, RECORD, catalogue, needs_server, read_record

STATES = ("live", "pure", "modelled", "failing", NOT_RUN, "open")


def tests_by_id(record: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The tests that carry each requirement, by their names."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for test, outcome in record.items():
        for name in outcome["ids"]:
            found.setdefault(name, {})[test] = outcome
    return found


def state(tests: Mapping[str, Mapping[str, Any]], *, needs_server: bool) -> str:
    """What the tests of one requirement say of it."""
    if any(test["outcome"] == "failed" for test in tests.values()):
        return "failing"
    of_product = [test for test in tests.values() if not test.get("modelled")]
    showing = {test["outcome"] for test in of_product if test.get("live") or not needs_server}
    for of_kind, name in (
        (showing, "live"),
        ({test["outcome"] for test in of_product}, "pure"),
        ({test["outcome"] for test in tests.values()}, "modelled"),
    ):
        if of_kind & {"passed", NOT_RUN}:
            return name if "passed" in of_kind else NOT_RUN
    return "open"


def functions(tests: Mapping[str, Any]) -> list[str]:
    """Names of tests, each parametrised one once."""
    return sorted({test.partition("[")[0].partition("@")[0] for test in tests})


def report(known: Mapping[str, str], of_text: Collection[str], record: Mapping[str, Mapping[str, Any]]) -> str:
    """A table of the chapters, and under each state its requirements, each with its tests.

    known: what each requirement says. of_text: those that are about text alone.
    """
    found = tests_by_id(record)
    states = {name: state(found.get(name, {}), needs_server=name not in of_text) for name in known}
    chapters: dict[str, list[str]] = {}
    for name in known:
        chapters.setdefault(name.rpartition("-")[0], []).append(name)
    lines = [f"{'chapter':10}{'IDs':>6}" + "".join(f"{name:>10}" for name in STATES)]
    for chapter, names in [*chapters.items(), ("all", list(known))]:
        counts = Counter(states[name] for name in names)
        lines.append(f"{chapter:10}{len(names):6}" + "".join(f"{counts[name]:10}" for name in STATES))
    for wanted in STATES:
        names = [name for name in known if states[name] == wanted]
        lines += ["", f"{wanted}:"] if names else []
        for name in names:
            lines.append(f"  {name:9} {known[name]}")
            lines += [f"            {test}" for test in functions(found.get(name, {}))]
    return "\n".join(lines)


def main() -> int:
    record = read_record()
    if not record:
        print(f"no test run is recorded yet ({RECORD.name}): run `make test` first", file=sys.stderr)
    known = catalogue()
    print(report(known, [name for name in known if not needs_server(name)], record))
    return 1 if any(test["outcome"] == "failed" for test in record.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
