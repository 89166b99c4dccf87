"""What changes rows, values or loops is refused in HVR's definitions, and nothing of one is passed over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hvr.definitions.importing import Imported, import_hvr
from airflow_ddlrepl.notation.import_findings import Fate

START = "SRC * Capture\nTGT * Integrate\n"


def imported(folder: Path, text: str) -> Imported:
    path = folder / "crm.txt"
    path.write_text(text, encoding="utf-8")
    return import_hvr(path)


def refused(found: Imported) -> list[str]:
    return [one.what for one in found.findings if one.fate is Fate.REFUSED]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SRC orders Capture\nTGT * Integrate\n", "Capture"),
        ("SRC * Capture\nTGT orders Integrate\n", "Integrate"),
        (START + "SRC orders Capture NoTruncate\n", "Capture NoTruncate"),
        (START + "SRC orders Capture IgnoreSessionName=purge\n", "Capture IgnoreSessionName"),
        (START + "TGT * Integrate Resilient=SILENT\n", "Integrate Resilient"),
        (START + "TGT * Integrate /SessionName=hvr_back\n", "Integrate SessionName"),
        (START + "TGT * DbObjectGeneration IncludeSqlFile=x.sql\n", "DbObjectGeneration IncludeSqlFile"),
        (START + "TGT * TableProperties PackedInside=a\n", "TableProperties PackedInside"),
        (START + 'TGT * TableProperties /Schema="<OWNER>"\n', "TableProperties"),
        (START + 'TGT * TableProperties /Schema="${S}"\n', "TableProperties"),
        (START + "TGT [orders] TableProperties BaseName=x\n", "TableProperties"),
        (START + "* * AdaptDDL AddTablePattern=t*, CaptureSchema={{schema}}\n", "AdaptDDL"),
        (START + "T2 * Integrate\nSRC * DbSequence\nT2 * DbSequence\n", "DbSequence"),
    ],
)
def test_what_would_change_what_arrives_is_refused(text: str, what: str, tmp_path: Path) -> None:
    found = imported(tmp_path, text)
    assert refused(found) == [what]
    assert not found.is_whole
    for key in ("adapt_ddl", "capture", "table_properties", "db_sequence"):
        assert key not in found.channel


def test_actions_for_all_tables_one_by_one_are_taken(tmp_path: Path) -> None:
    channel: dict[str, Any] = {
        "channel": "crm",
        "tables": {"a": {"base_name": "a", "table_group": "G"}, "b": {"base_name": "b"}},
        "actions": [
            {"loc_scope": "SRC", "table_scope": "G", "type": "Capture", "params": {}},
            {"loc_scope": "SRC", "table_scope": "b", "type": "Capture", "params": {}},
            {"loc_scope": "TGT", "table_scope": "*", "type": "Integrate", "params": {}},
        ],
    }
    assert refused(imported(tmp_path, json.dumps(channel))) == []
    del channel["actions"][1]
    assert refused(imported(tmp_path, json.dumps(channel))) == ["Capture"]


def test_new_tables_go_to_the_schema_of_the_target(tmp_path: Path) -> None:
    actions = "* * AdaptDDL AddTablePattern=*, CaptureSchema=app{}\nTGT * TableProperties Schema=mart\n"
    (target,) = imported(tmp_path, START + actions.format("")).channel["targets"]
    assert target["schemas"] == {"public": "mart", "app": "mart"}
    (target,) = imported(tmp_path, START + actions.format(", IntegrateSchema=own")).channel["targets"]
    assert target["schemas"] == {"public": "mart"}


def test_a_key_of_an_action_that_is_not_known_is_an_error(tmp_path: Path) -> None:
    action = {"type": "Capture", "loc_scope": "SRC", "params": {}, "only_when": "x"}
    with pytest.raises(ConfigError, match="an action has no only_when"):
        imported(tmp_path, json.dumps([action]))
