"""Statements of ours run in sessions with a safe search path: `session`, not `connect`, which is a user's."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "airflow_ddlrepl"
PLAIN = re.compile(r"from airflow_ddlrepl\.engines\.postgres\.connection\.connect import .*\bconnect\b")
USERS = {"engines/postgres/log/replication_protocol.py"}  # sends replication commands; its one query is qualified


def test_nobody_but_the_demo_uses_a_plain_connection() -> None:
    files = [file for file in PACKAGE.rglob("*.py") if "demo" not in file.parts and PLAIN.search(file.read_text())]
    assert {str(file.relative_to(PACKAGE)) for file in files} == USERS
