"""What `ddlrepl import hvr` makes of HVR's notations, what it lists, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel, read_channel
from airflow_ddlrepl.config.file.warnings import warnings
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hvr.definitions.importing import Imported, import_hvr
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica

HVR5 = """\
# exported from the GUI
SRC  *  Capture    /NoTruncate /Coalesce
TGT  *  Integrate  /Burst
*    *  AdaptDDL   /AddTablePattern="t*" /IgnoreTablePattern="tmp*|temp*" /KeepExistingStructure
"""
HVR6 = """\
SRC * Capture NoTruncate, Coalesce
TGT * Integrate Method=BURST
AdaptDDL AddTablePattern=t*, IgnoreTablePattern=tmp*|temp*, KeepExistingStructure
"""
ROWS = """\
| Group | Table | Action | Parameters | Annotation |
|---|---|---|---|---|
| SRC | * | Capture | NoTruncate, Coalesce | reads the log |
| TGT | * | Integrate | | |
| * | * | AdaptDDL | AddTablePattern=t*, IgnoreTablePattern=tmp*|temp*, KeepExistingStructure | |
"""
ACTIONS: list[dict[str, Any]] = [
    {"loc_scope": "SRC", "table_scope": "*", "type": "Capture", "params": {"NoTruncate": True, "Coalesce": True}},
    {"loc_scope": "TGT", "table_scope": "*", "type": "Integrate", "params": {"Method": "BURST"}},
    {
        "loc_scope": "*",
        "table_scope": "*",
        "type": "AdaptDDL",
        "params": {"AddTablePattern": "t*", "IgnoreTablePattern": "tmp*|temp*", "KeepExistingStructure": True},
    },
]
EXPORT: dict[str, Any] = {
    "export_header": {"hvr_version": "6.2.0/1", "type": "definition_changes"},
    "changes": [
        {"add_loc": {"loc": "crm", "props": {"Class": "postgresql", "Database_Password": "geheim"}}},
        {
            "add_channel": {
                "channel": "crm_chn",
                "loc_groups": {"SOURCE": {"members": ["crm"]}, "TARGET": {"members": ["dw", "lake"]}},
                "tables": {
                    "orders": {"base_name": "orders", "table_group": "GENERAL", "cols": {"id": {"key": 1}}},
                    "items": {"base_name": "order items", "table_group": "GENERAL"},
                },
                "actions": [
                    {"loc_scope": "SOURCE", "table_scope": "*", "type": "Capture", "params": {}},
                    {"loc_scope": "TARGET", "table_scope": "*", "type": "Integrate", "params": {}},
                    {"loc_scope": "SOURCE", "type": "AdaptDDL", "params": {"AddTablePattern": "*"}},
                    {"loc_scope": "dw", "type": "AdaptDDL", "params": {"OnEnrollBreak": "WARNING"}},
                    {"loc_scope": "SOURCE", "table_scope": "*", "type": "TableProperties", "params": {"Schema": "app"}},
                    {
                        "loc_scope": "TARGET",
                        "table_scope": "orders",
                        "type": "TableProperties",
                        "params": {"BaseName": "sales", "Schema": "mart"},
                    },
                    {
                        "loc_scope": "dw",
                        "table_scope": "GENERAL",
                        "type": "TableProperties",
                        "params": {"Schema": "mart"},
                    },
                    {
                        "loc_scope": "dw",
                        "table_scope": "GENERAL",
                        "type": "ColumnProperties",
                        "params": {"Name": "note", "BaseName": "remark"},
                    },
                ],
            }
        },
    ],
}


def imported(folder: Path, text: str, channel: str = "") -> Imported:
    file = folder / "crm.txt"
    file.write_text(text, encoding="utf-8")
    return import_hvr(file, channel=channel)


def listed(found: Imported) -> list[tuple[int, str, str]]:
    return [(one.line, str(one.fate), one.what) for one in found.findings]


@pytest.mark.req("HVR-O-27")
@pytest.mark.parametrize(
    "text", [HVR5, HVR6, ROWS, json.dumps({"channel": "crm", "actions": ACTIONS}), json.dumps(ACTIONS)]
)
def test_every_notation_means_the_same_channel(tmp_path: Path, text: str) -> None:
    found = imported(tmp_path, text)
    action = {"add_table_pattern": "t*", "ignore_table_pattern": "tmp*|temp*", "keep_existing_structure": True}
    assert found.channel == {
        "channel": "crm",
        "defaults": "hvr",
        "source": {"location": "SRC", "tables": ["public.*"]},
        "targets": [{"name": "TGT", "location": "TGT"}],
        "adapt_ddl": [action],
        "capture": {"no_truncate": True},
    }
    assert ("ignored safely", "Capture Coalesce") in [one[1:] for one in listed(found)]
    channel = read_channel(found.yaml())
    assert (channel.name, [text for text in warnings(channel) if "no_truncate" not in text]) == ("crm", [])


def test_an_export_with_tables_groups_and_names(tmp_path: Path) -> None:
    """A group is its locations, a table group its tables; a password of a location is not read."""
    found = imported(tmp_path, json.dumps(EXPORT, indent=1))
    assert "geheim" not in found.yaml()
    assert found.channel["source"] == {
        "location": "crm",
        "tables": ["app.orders", 'app."order items"'],
        "adapt_ddl": [{"add_table_pattern": "*"}],
    }
    assert found.channel["targets"] == [
        {"name": "dw", "location": "dw", "schemas": {"app": "mart"}, "adapt_ddl": [{"on_enroll_break": "WARNING"}]},
        {"name": "lake", "location": "lake"},
    ]
    assert found.channel["table_properties"] == [{"tables": ["app.orders"], "name": "sales"}]
    both = ["app.orders", 'app."order items"']
    assert found.channel["column_properties"] == [
        {"tables": both, "columns": "note", "name": "remark", "targets": ["dw"]}
    ]
    assert [one[1:] for one in listed(found)] == [
        ("refused", "TableProperties Schema"),  # lake: one table of two goes to mart
        ("needs attention", "tables"),
        ("needs attention", "AdaptDDL AddTablePattern"),
    ]
    assert "new tables of app join" in found.text()


def test_what_only_the_targets_have_is_imported(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        """SRC * Capture
TGT * Integrate
SRC * Capture IgnoreSessionName=purge
* * AdaptDDL RefreshOptions="-gr -inow"
TGT * ColumnProperties Name=gone, Extra, SoftDelete
TGT t ColumnProperties Name=at, Extra, IntegrateExpression={hvr_integ_tstamp}
TGT t ColumnProperties Name=price, Datatype=numeric, Precision=12, Scale=2
TGT u ColumnProperties Name=code, Datatype=varchar, Length=9
TGT u TableProperties CoerceErrorPolicy=SILENT
TGT t Restrict RefreshCondition="a = 1", Context=ADAPTDDL
TGT u Restrict IntegrateCondition="b > 2"
""",
    )
    assert found.channel["capture"] == {"ignore_sessions": {"names": ["purge"], "known_by": "triggers"}}
    assert found.channel["adapt_ddl"] == [{"refresh_options": "-gr -inow"}]
    assert found.channel["target_tables"] == [
        {
            "tables": ["t"],
            "soft_delete": "gone",
            "extra": {"at": "{commit_time}"},
            "types": {"price": "numeric(12,2)"},
        },
        {
            "tables": ["u"],
            "soft_delete": "gone",
            "types": {"code": "varchar(9)"},
            "coerce_error_policy": "truncate",
        },
        {"tables": ["*"], "soft_delete": "gone"},
    ]
    assert found.channel["restrict"] == [
        {"tables": ["t"], "refresh": "a = 1", "context": "adaptddl"},
        {"tables": ["u"], "integrate": "b > 2"},
    ]
    assert found.is_whole
    read_channel(found.yaml())


def test_actions_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    lines = "SRC * Capture\nTGT * Integrate\nTGT t ColumnProperties Name=gone, Extra, SoftDelete\n"
    found = imported(tmp_path, f"{lines}TGT t ColumnProperties Name=a, Key\n")
    assert (4, "refused", "ColumnProperties") in listed(found) and "target_tables" not in found.channel


@pytest.mark.parametrize(
    ("line", "fate", "what"),
    [
        ("TGT * Integrate /TxBundleSize=100", "ignored safely", "Integrate TxBundleSize"),
        ("TGT * Integrate /OnErrorSaveFailed", "needs attention", "Integrate OnErrorSaveFailed"),
        ("SRC * DbSequence /CaptureOnly", "refused", "DbSequence CaptureOnly"),
        ('* * Scheduling /CaptureStartTimes="0 2 * * *"', "needs attention", "Scheduling CaptureStartTimes"),
        ("* * AdaptDDL /RefreshOptions=-iextra", "needs attention", "AdaptDDL RefreshOptions -iextra"),
        ("SRC * Capture /IgnoreSessionName=purge", "needs attention", "Capture IgnoreSessionName"),
        ("TGT * Integrate Method=APPEND", "refused", "Integrate Method"),
        ('TGT t Restrict /RefreshCondition="a = 1"', "needs attention", "Restrict RefreshCondition"),
        (
            "TGT t Restrict /CaptureCondition=a /RefreshCondition=a",
            "refused",
            "Restrict CaptureCondition, RefreshCondition",
        ),
        ('TGT t Restrict RefreshCondition="f(a)", IntegrateCondition="f(a)"', "refused", "Restrict"),
        ("TGT t ColumnProperties Name=d, TimeKey, Extra", "refused", "ColumnProperties TimeKey"),
        ("* t ColumnProperties Name=d, SoftDelete, Extra", "refused", "ColumnProperties"),
        ("TGT t ColumnProperties Name=d, Extra", "refused", "ColumnProperties"),
        (
            "TGT t ColumnProperties Name=d, Extra, SoftDelete, Datatype=int",
            "needs attention",
            "ColumnProperties Datatype",
        ),
        (
            "TGT t ColumnProperties Name=d, Extra, IntegrateExpression={hvr_op}",
            "needs attention",
            "ColumnProperties IntegrateExpression",
        ),
        ("TGT t ColumnProperties Name=d, Datatype=money", "refused", "ColumnProperties"),
        ("TGT t ColumnProperties Name=d, Length=3", "refused", "ColumnProperties"),
        ('TGT t ColumnProperties Name=d, IntegrateExpression="a"', "refused", "ColumnProperties"),
        ("TGT t ColumnProperties Name=d, Key, BaseName=e", "refused", "ColumnProperties"),
        ("TGT * TableProperties CoerceErrorPolicy=WARNING", "refused", "TableProperties CoerceErrorPolicy"),
        ("* t ColumnProperties Name=d, BaseName=e", "refused", "ColumnProperties BaseName"),
        ("TGT t ColumnProperties Name=d, Absent, Context=x", "refused", "ColumnProperties Context"),
        ("TGT * TableProperties /BaseName=x", "refused", "TableProperties BaseName"),
        ("SRC * TableProperties /Schema=x", "refused", "TableProperties Schema"),
        ("* * Transform /SapUnpack", "refused", "Transform SapUnpack"),
        ("TGT * CollisionDetect", "refused", "CollisionDetect"),
        ("OTHER * AdaptDDL /KeepOldRows", "refused", "AdaptDDL"),
    ],
)
def test_what_has_no_counterpart_is_listed_with_its_line(tmp_path: Path, line: str, fate: str, what: str) -> None:
    """What is refused leaves nothing in the channel file, and makes the import one that is not whole."""
    start = "SRC * Capture\nTGT * Integrate\n"
    plain, found = imported(tmp_path, start), imported(tmp_path, f"{start}{line}\n")
    assert (3, fate, what) in listed(found)
    assert found.is_whole is (fate != "refused")
    assert (f"{what} (3)" if fate == "ignored safely" else f"crm.txt:3: {what}: ") in found.yaml()
    if fate == "refused":
        assert found.channel == plain.channel


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nAdaptDDl /AddTablePattern=x", "crm.txt:2: HVR has no action AdaptDDl; did you mean AdaptDDL?"),
        (
            "AdaptDDL /AddTablePatern=x",
            "crm.txt:1: AdaptDDL has no parameter AddTablePatern; did you mean AddTablePattern?",
        ),
        ("AdaptDDL OnDropTable=NEVER", "crm.txt:1: AdaptDDL: on_drop_table: has to be 'KEEP', "),
        ("AdaptDDL /RefreshOptions=-gx", "crm.txt:1: AdaptDDL: refresh_options: there is no granularity -gx"),
        ("AdaptDDL AddTablePattern", "crm.txt:1: AdaptDDL: AddTablePattern needs a value"),
        ("AdaptDDL /AddTablePattern=a b", "crm.txt:1: 'b' can't be read: write /Parameter="),
        ("a b c d AdaptDDL", "crm.txt:1: before an action stand its channel, group and table"),
        ("# nothing", "crm.txt:1: there is no action here"),
        ("c1 SRC * Capture\nc2 SRC * Capture", "crm.txt:1: the lines are of several channels: c1, c2"),
        ("<hvr_export/>", "crm.txt:1: this is HVR 5's XML"),
        ('{"changes": [\n{"add_channel": }]}', "crm.txt:2: not valid JSON"),
        ('{"changes": []}', "crm.txt:1: no channel is defined here"),
        ("[" * 100_000, "crm.txt:1: too deeply nested"),
        (
            '{"channel": null, "loc_groups": [], "tables": 1,\n"actions": [{"type": "Nothing"}]}',
            "crm.txt:2: HVR has no action",
        ),
        (
            '{"actions": [\n  {"type": "AdaptDDL",\n "params": {"KeepOldRow": true}}]}',
            "crm.txt:2: AdaptDDL has no parameter",
        ),
        ('{"actions": [{"params": {}}]}', "crm.txt:1: an action has a type"),
        (
            '[{"type": "Restrict", "params":\n{"CaptureCondition": []}}]',
            "crm.txt:2: CaptureCondition has to be one value",
        ),
        ('{"changes": [{"delete_channel": {}}]}', "crm.txt:1: a change delete_channel can't be read"),
    ],
)
def test_a_mistake_is_an_error_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        imported(tmp_path, text)
    assert (error.value.code, message in str(error.value)) == ("CFG-141", True), str(error.value)


def test_a_channel_that_is_none_of_ours(tmp_path: Path) -> None:
    for text in ("A * Capture\nB * Capture\nC * Integrate", "A * Capture\nA * Integrate"):
        with pytest.raises(ConfigError, match="captures from") as error:
            imported(tmp_path, text)
        assert error.value.code == "CFG-142"
    two = [{"add_channel": {"channel": name, "actions": ACTIONS}} for name in ("a", "b")]
    with pytest.raises(ConfigError, match="these channels: a, b"):
        imported(tmp_path, json.dumps({"changes": two}))
    assert imported(tmp_path, json.dumps({"changes": two}), "b").channel["channel"] == "b"


def test_the_output_is_never_overwritten(tmp_path: Path) -> None:
    file, output = tmp_path / "crm.txt", tmp_path / "crm.yaml"
    file.write_text(HVR5)
    assert import_hvr(file, output).text().endswith("crm.yaml is written")
    with pytest.raises(ConfigError, match="File exists") as error:
        import_hvr(file, output)
    assert error.value.code == "CFG-143"
    with pytest.raises(ConfigError, match="No such file") as error:
        import_hvr(tmp_path / "none.txt")
    assert error.value.code == "CFG-141"


def test_an_imported_channel_follows_the_source_with_hvrs_defaults(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locations are connections of HVR's names; rows get an empty default; a new table joins."""
    monkeypatch.setenv("AIRFLOW_CONN_SRC", databases.source)
    monkeypatch.setenv("AIRFLOW_CONN_TGT", databases.target)
    monkeypatch.setenv("DDLREPL_HOME", str(tmp_path / "state"))
    file = tmp_path / "crm.hvr"
    file.write_text(
        HVR5.replace("/NoTruncate ", "").replace(" /KeepExistingStructure", "")
        + "TGT orders ColumnProperties /Name=note /BaseName=remark\nTGT orders Restrict"
        ' /IntegrateCondition="region = 1" /RefreshCondition="region = 1"\n'
    )
    assert import_hvr(file, tmp_path / "crm.yaml").is_whole
    assert load_channel(tmp_path / "crm.yaml").name == "crm"
    replica = Replica(databases.source, databases.target, tmp_path / "crm.yaml")
    replica.at_source(
        "CREATE TABLE orders (id int PRIMARY KEY, region int, note text)",
        "INSERT INTO orders VALUES (1, 1, 'a'), (2, 2, 'b')",
    )
    replica.activate()
    replica.at_source(
        "ALTER TABLE orders ADD n int NOT NULL DEFAULT 7",
        "INSERT INTO orders (id, region, note) VALUES (3, 1, 'c'), (4, 2, 'd')",
        "CREATE TABLE tab (id int PRIMARY KEY)",
        "CREATE TABLE tmp_x (id int PRIMARY KEY)",
        "INSERT INTO tab VALUES (1)",
    )
    replica.replicate()
    assert replica.rows("SELECT id, remark, n FROM orders ORDER BY id") == [(1, "a", 0), (3, "c", 7)]
    assert replica.rows("SELECT id FROM tab") == [(1,)]
    assert replica.rows("SELECT to_regclass('tmp_x')") == [(None,)]
    with flow.open_channel(replica.file, InProcess()) as run:
        assert run.channel.defaults == "hvr"


@pytest.mark.parametrize(
    ("lines", "section"),
    [
        ("* * DbSequence", True),
        ("SRC * DbSequence\nTGT * DbSequence", True),
        ("* * DbSequence /Name=numbers\n* * DbSequence /Name=Odd /Schema=app", ["public.numbers", "app.Odd"]),
        ("* * DbSequence /Schema=app", ["app.*"]),
        ("SRC * DbSequence", None),
        ("* * DbSequence /BaseName=x", None),
    ],
)
def test_sequences(tmp_path: Path, lines: str, section: Any) -> None:
    """They are replicated where the action reaches both sides."""
    assert imported(tmp_path, f"SRC * Capture\nTGT * Integrate\n{lines}\n").channel.get("db_sequence") == section
