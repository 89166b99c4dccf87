"""The README's first steps, line by line: from two databases to a table that follows its renamed column."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.airflow.support import readme

SOURCE = "postgresql://postgres:secret@localhost/shop"
TARGET = "postgresql://postgres:secret@localhost/warehouse"
ROWS = "SELECT id, remark FROM orders ORDER BY id"


@pytest.mark.timeout(300)
def test_the_first_steps_lead_to_replicated_rows(databases: Any, tmp_path: Path) -> None:
    password = str(urlsplit(databases.source).password)
    theirs = {
        SOURCE: databases.source,
        TARGET: databases.target,
        "PASSWORD=secret": f"PASSWORD={password}",
        "shop.yaml": str(tmp_path / "shop.yaml"),
    }
    blocks = readme.blocks(theirs, "First steps")
    assert [block.step for block in blocks] == [1, 2, 2, 3, 4, 5]
    folder = str(Path(sys.executable).parent)
    user = readme.Reader({**clean(), "DDLREPL_HOME": str(tmp_path), "PATH": f"{folder}:{os.environ['PATH']}"})
    assert blocks[0].lines() == ["make setup", ". .venv/bin/activate"]  # done: this test runs in it
    printed: dict[str, str] = {}
    for block in blocks[1:]:
        if block.language == "sql":
            with psycopg.connect(databases.source, autocommit=True) as source:
                source.execute(block.text.encode())
            continue
        printed |= user.does(block)
    plan = next(text for line, text in printed.items() if line.startswith("ddlrepl plan"))
    assert 'RENAME COLUMN "note" TO "remark"' in plan
    with psycopg.connect(databases.target) as target:
        assert target.execute(ROWS).fetchall() == [(1, "before"), (2, "after")]


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "DDLREPL", "PYTHON"))}
