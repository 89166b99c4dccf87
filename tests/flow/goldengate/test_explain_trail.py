"""`ddlrepl ddl trail`: what became of the statements that lie in the trail."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.cli import commands
from airflow_ddlrepl.errors import ConfigError
from tests.support.replica import Make
from tests.support.replicating import replicat


def test_statements_of_the_trail_with_what_each_side_made_of_them(make: Make, databases: Any) -> None:
    extract = {"tables": ["hr.*"], "ddl": {"include": [{"scope": "ALL"}], "exclude": [{"instr": "secret"}]}}
    mapped = {"include": [{"scope": "MAPPED"}]}
    made = replicat(make, databases, settings={"source": {"extract": extract}}, ddl=mapped)
    made.at_source("ALTER TABLE hr.pay ADD x int", "ALTER TABLE hr.pay ADD secret int", "CREATE TABLE public.u (i int)")
    made.replicate()
    found = commands.explain_trail(made.file, "")
    added, secret, created = found.to_json()
    (one,) = added["targets"]["warehouse"]
    assert (one["outcome"], one["text"], len(one["steps"])) == ("runs", "ALTER TABLE bk.bak_pay ADD x int", 11)
    assert secret["why"].startswith("Extract discards it: exclude[0] is true") and secret["targets"] == {}
    assert created["targets"]["warehouse"][0]["outcome"] == "discarded"
    lines = found.text().splitlines()
    assert lines[0] == f"{added['at']} ALTER TABLE hr.pay ADD x int"
    assert lines[1] == "  target warehouse: ALTER TABLE bk.bak_pay ADD x int: runs at the target"
    alone = commands.explain_trail(made.file, added["at"])
    assert [each["statement"] for each in alone.to_json()] == ["ALTER TABLE hr.pay ADD x int"]
    assert "map base name" in alone.text()
    assert commands.explain_trail(made.file, "0/1").text() == "no statement is in the trail there"
    with pytest.raises(ConfigError, match="CFG-110"):
        commands.explain_trail(made.file, "0/xyz")
