"""What was put back to an older copy, alone or with others: docs/operations.md says what follows, and so it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flow.restore.put_back import Places, places, refused

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"
GOES_ON = "goes on"


def cases() -> list[tuple[str, str, str]]:
    """The rows of the page's table."""
    text = PAGE.read_text(encoding="utf-8").partition("<!-- put back -->")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()[2:]]
    return [(what, then, re.sub("`", "", do)) for what, then, do in rows]


CASES = cases()
CODES = {"SRC-130", "REP-110", "REP-111", "REP-112", "TRL-101", GOES_ON}


@pytest.fixture(scope="module", params=[18, 15], ids=["pg18", "pg15"])
def there(
    private_server: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Places]:
    with places(tmp_path_factory.mktemp("put-back"), request.param) as made:
        yield made


def test_the_page_has_every_combination() -> None:
    assert len({frozenset(what.split(", ")) for what, _, _ in CASES}) == len(CASES) == 15
    assert {then for _, then, _ in CASES} == CODES


@pytest.mark.parametrize(("what", "then", "do"), CASES, ids=[what.replace(", ", "+") for what, _, _ in CASES])
def test_put_back(there: Places, what: str, then: str, do: str) -> None:
    """More is captured and applied before the copies are put back, and more is written than was lost."""
    replica, names = there.replica, what.split(", ")
    replica.at_source("insert into t select max(id) + 1, 'before the copy' from t")
    replica.settle()
    for name in names:
        there.copy(name)
    for number in range(2):
        replica.at_source(
            f"insert into t select max(id) + i, 'lost {number}' from t, generate_series(1, 300) i group by i",
            "update t set v = v || '!' where id < 5",
        )
        replica.settle()
    for name in names:
        there.put_back(name)
    replica.at_source(
        "insert into t select max(id) + i, 'written since' from t, generate_series(1, 20) i group by i",
        "create table filler as select generate_series(1, 20000) i",
        "drop table filler",
    )
    if then == GOES_ON:
        assert do == "nothing"
    else:
        refused(replica, then, tries=3)
        option = do.removeprefix("--").split()
        replica.activate(**({"accept": option[1]} if option[0] == "accept" else {"trail": "new"}))
    replica.settle()
    replica.at_source("insert into t select max(id) + 1, 'and later' from t")
    replica.settle()
