"""What changes rows, values, statements or loops is refused, and nothing of a parameter file is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters
from airflow_ddlrepl.goldengate.prm.importing import ParameterFile, import_goldengate, read_parameter_file
from airflow_ddlrepl.goldengate.prm.vocabulary.parameters import PARAMETERS
from airflow_ddlrepl.notation.import_findings import Fate


def read(tmp_path: Path, *lines: str, side: str = "EXTRACT e") -> ParameterFile:
    file = tmp_path / "p.prm"
    file.write_text("\n".join([side, *lines]) + "\n")
    return read_parameter_file(file)


def refused(found: ParameterFile) -> list[str]:
    return [one.what for one in found.findings if one.fate is Fate.REFUSED]


@pytest.mark.parametrize(
    "line",
    [
        "EXTTRAIL ./dirdat/aa TABLE hr.*;",
        "USERIDALIAS ogg DOMAIN x EXTTRAIL aa, MEGABYTES 100 TABLE hr.*;",
        "GETTRUNCATES TABLE hr.*;",
        "DYNAMICRESOLUTION GETUPDATES EXTTRAIL aa; TABLE hr.*;",
        "REPORTCOUNT EVERY 10 MINUTES, RATE TABLE hr.*;",
        "USERID gg, PASSWORD table TABLE hr.*;",
        "DBOPTIONS ALLOWUNUSEDCOLUMN TABLE hr.*;",
        "CACHEMGR CACHESIZE 1GB TABLE hr.*;",
    ],
)
def test_parameters_of_one_line_are_all_read(line: str, tmp_path: Path) -> None:
    found = read(tmp_path, line)
    assert isinstance(found.parameters, ExtractParameters)
    assert [one.table for one in found.parameters.tables] == ["hr.*"]
    assert refused(found) == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("EXTTRAIL aa TABEL hr.*;", "EXTTRAIL TABEL"),
        ("GETTRUNCATES YES", "GETTRUNCATES YES"),
        ("TRANLOGOPTIONS FILTERTABLE ogg.chk", "TRANLOGOPTIONS FILTERTABLE"),
        ("TRANLOGOPTIONS INTEGRATEDPARAMS (a 1), EXCLUDETRANS pump", "TRANLOGOPTIONS EXCLUDETRANS"),
        ("TRANLOGOPTIONS EXCLUDEUSER gg", "TRANLOGOPTIONS EXCLUDEUSER"),
        (
            "TRANLOGOPTIONS INTEGRATEDPARAMS (a 2, ignore_transaction 1)",
            "TRANLOGOPTIONS IGNORE_TRANSACTION",
        ),
        ("TRANLOGOPTIONS BUFSIZE 10, EXCLUDETAG 00", "TRANLOGOPTIONS EXCLUDETAG"),
        ("TRANLOGOPTIONS SOMETHING", "TRANLOGOPTIONS …"),
        ("TRANLOGOPTIONS _NOREADAHEAD ANY", "TRANLOGOPTIONS _NOREADAHEAD"),
        ("_DEFERREADMARKER 3", "_DEFERREADMARKER"),
        ("IGNOREAPPLOPS", "IGNOREAPPLOPS"),
        ("DDLOPTIONS REPORT, IGNOREAPPLOPS", "DDLOPTIONS IGNOREAPPLOPS"),
        ("DDLOPTIONS INCLUDETAG 00", "DDLOPTIONS INCLUDETAG"),
        ("EXCLUDETAG 00", "EXCLUDETAG"),
        ("SEQUENCE hr.*;", "SEQUENCE"),
        ("END RUNTIME", "END"),
        ("WILDCARDRESOLVE IMMEDIATE", "WILDCARDRESOLVE IMMEDIATE"),
        ("SOURCECHARSET PASSTHRU", "SOURCECHARSET"),
        ("CATALOGEXCLUDE pdb2", "CATALOGEXCLUDE"),
        ("TABLE emp;", "TABLE emp"),
        ("TABLEEXCLUDE emp", "TABLEEXCLUDE emp"),
        ("TABLE hr.a, TARGET hq.a;", "TABLE … TARGET"),
        ("EXTTRAIL a\nTABLE hr.*;\nEXTTRAIL b\nTABLEEXCLUDE hr.b\nTABLE hr.*;", "TABLEEXCLUDE"),
        ("TABLE pdb1.hr.a;\nTABLE pdb2.hr.b;", "TABLE pdb2.hr.b"),
        ("SOURCECATALOG pdb1\nTABLE hr.a;\nSOURCECATALOG pdb2\nTABLE hr.b;", "SOURCECATALOG"),
        ("TABLE pdb*.hr.a;", "TABLE pdb*.hr.a"),
        ("TABLE pdb1.hr.a;\nSCHEMAEXCLUDE pdb2.tmp", "SCHEMAEXCLUDE"),
        ("TABLE pdb1.hr.a;\nDDL INCLUDE OBJNAME pdb2.hr.*", "OBJNAME pdb2.hr.*"),
    ],
)
def test_what_would_change_what_an_extract_sends_is_refused(line: str, what: str, tmp_path: Path) -> None:
    assert what in refused(read(tmp_path, line))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("DBOPTIONS DEFERREFCONST, SETTAG 0885", "DBOPTIONS SETTAG"),
        ("DBOPTIONS NOSUPPRESSTRIGGERS", "DBOPTIONS NOSUPPRESSTRIGGERS"),
        ("DBOPTIONS INTEGRATEDPARAMS (allow_duplicate_rows Y)", "DBOPTIONS ALLOW_DUPLICATE_ROWS"),
        ("DBOPTIONS ALLOWLOBDATATRUNCATE", "DBOPTIONS ALLOWLOBDATATRUNCATE"),
        ("HANDLECOLLISIONS", "HANDLECOLLISIONS"),
        ("INSERTMISSINGUPDATES", "INSERTMISSINGUPDATES"),
        ("OVERRIDEDUPS", "OVERRIDEDUPS"),
        ("REPERROR (1403, DISCARD)", "REPERROR"),
        ("REPERROR (DEFAULT, EXCEPTION)", "REPERROR"),
        ("MAP a.b, TARGET c.b, REPERROR (-1, IGNORE);", "MAP … REPERROR"),
        ("MAP a.b, TARGET c.b, HANDLECOLLISIONS;", "MAP … HANDLECOLLISIONS"),
        ("REPLACEBADCHAR SUBSTITUTE x", "REPLACEBADCHAR"),
        ("MAPEXCEPTION (TARGET a.exc, INSERTALLRECORDS)", "MAPEXCEPTION"),
        ("MAP p1.a.b, TARGET q1.c.b;\nMAP p1.a.d, TARGET q2.c.d;", "MAP q2.c.d"),
        ("DDLOPTIONS MAPSESSIONSCHEMA hr TARGET bk\nMAP hr.*, TARGET fin.*;", "DDLOPTIONS MAPSESSIONSCHEMA hr"),
    ],
)
def test_what_would_change_what_a_replicat_applies_is_refused(line: str, what: str, tmp_path: Path) -> None:
    assert what in refused(read(tmp_path, line, side="REPLICAT r"))


def test_what_says_the_default_is_ignored(tmp_path: Path) -> None:
    lines = [
        "REPERROR (DEFAULT, ABEND)", "REPERROR DEFAULT, ABEND", "NOHANDLECOLLISIONS", "DBOPTIONS SUPPRESSTRIGGERS",
        "BATCHSQL BATCHERRORMODE, OPSPERBATCH 2000",
        "DDLOPTIONS MAPSESSIONSCHEMA hr, TARGET bk, USEPASSWORDVERIFIERLEVEL 11",
        "MAP hr.*, TARGET bk.*, REPERROR (DEFAULT, ABEND);",
    ]  # fmt: skip
    found = read(tmp_path, *lines, side="REPLICAT r")
    assert {one.fate for one in found.findings} == {Fate.SAFE}


def test_every_reason_says_what_happens_instead() -> None:
    assert not [name for name, entry in PARAMETERS.items() if "there is nothing for it here" in entry.why]
    assert all(entry.why for entry in PARAMETERS.values() if entry.fate)


def test_what_is_refused_comes_first_and_what_is_ignored_is_a_line_for_each_reason(tmp_path: Path) -> None:
    read(tmp_path, "EXTTRAIL a", "RMTHOST b", "REPORT AT 01:00", "IGNOREAPPLOPS", "GETTRUNCATES", "TABLE a.b;")
    text = import_goldengate([tmp_path / "p.prm"]).text()
    places = [text.index(word) for word in ("refused: 1", "needs attention: 1", "ignored safely: 3")]
    assert places == sorted(places)
    assert "#   connections, trail and runs are those of the channel file: EXTTRAIL (2), RMTHOST (3)\n" in text


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("GGSCI", "is a command of GGSCI"),
        ("ADD TRANDATA hr.*", "is a command of GGSCI"),
        ("SUPPRESSTRIGGERS", "is an option of DBOPTIONS"),
        ("MAPDERIVED", "is an option of DDLOPTIONS"),
        ("ALLOWNULLABLEKEYS", "is of another platform or process"),
        ("GETPURGEDATAS", "is of another platform or process"),
        ("EXTRAIL a", "did you mean EXTTRAIL?"),
        ("<PARAM> x", "is a placeholder"),
    ],
)
def test_hints_are_for_words_that_are_not_the_vendors(line: str, why: str, tmp_path: Path) -> None:
    (found,) = [one for one in read(tmp_path, line, "TABLE a.b;").findings if one.fate is Fate.REFUSED]
    assert why in found.why


def test_schemas_that_are_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, "SCHEMAEXCLUDE tmp", "SCHEMAEXCLUDE pdb1.old*", "TABLE *.*;")
    assert isinstance(found.parameters, ExtractParameters)
    assert found.parameters.exclude == ("tmp.*", "old*.*")
    assert refused(found) == []


def test_lists_in_parentheses_are_a_clause_for_each_pair(tmp_path: Path) -> None:
    found = read(
        tmp_path, "DDL INCLUDE OPTYPE (CREATE, ALTER) OBJTYPE ('TABLE', index) OBJNAME (hr.tab*)", "TABLE hr.*;"
    )
    assert found.parameters.ddl is not None
    clauses = {(one.optype, one.objtype, one.objname) for one in found.parameters.ddl.include}
    assert clauses == {(op, of, "hr.tab*") for op in ("CREATE", "ALTER") for of in ("TABLE", "INDEX")}


@pytest.mark.parametrize("name", ["<OWNER>.*", "${S}.*", "[hr].*", "#own.t", "%s.t", "{{ s }}.t", "$S.t", "@S@.t"])
def test_placeholders_are_no_names(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="CFG-161"):
        read(tmp_path, f"TABLE {name};")
    with pytest.raises(ConfigError, match="CFG-161"):
        read(tmp_path, f"MAP hr.*, TARGET {name};", side="REPLICAT r")


@pytest.mark.parametrize("comment", ["überall".encode("latin-1"), "中文 or '".encode("gbk"), b"\xb2\x7c '"])
def test_comments_may_be_in_any_encoding_and_names_may_not(comment: bytes, tmp_path: Path) -> None:
    file = tmp_path / "e.prm"
    file.write_bytes(b"EXTRACT e -- " + comment + b"\nTABLE hr.a; -- " + comment + b"\nCOMMENT " + comment + b"\n")
    assert read_parameter_file(file).to_json() == {"tables": ["hr.a"]}
    file.write_bytes(b"EXTRACT e\nDDL INCLUDE ALL\n\nTABLE hr." + comment.strip() + b";\n")
    with pytest.raises(ConfigError, match=r"e\.prm:4:1: is not UTF-8 text"):
        read_parameter_file(file)


def test_words_behind_an_alias_or_an_environment_are_shown(tmp_path: Path) -> None:
    lines = ["USERIDALIAS ogg", "FOO bar", "SETENV (A = 'geheim')", "FOO2 bar", "USERID a, PASSWORD", "geheim2"]
    lines += ["SETENV PGPASSWORD geheim3", "FETCHUSERID a PASSWORD", "geheim4", "DBOPTIONS DEFERREFCONST", "FOO3 bar"]
    lines += ["TRANLOGOPTIONS MININGUSER a, MININGPASSWORD", "geheim5"]
    found = read(tmp_path, *lines)
    assert refused(found) == ["FOO", "FOO2", "…", "SETENV …", "…", "FOO3", "…"]
    assert "geheim" not in "\n".join(found.report()).lower()


def test_an_extract_without_table_whose_clauses_are_about_tables_is_told(tmp_path: Path) -> None:
    found = [one.what for one in read(tmp_path, "DDL INCLUDE MAPPED").findings]
    assert found == ["DDL … MAPPED"]
    assert [one.what for one in read(tmp_path, "DDL INCLUDE ALL").findings] == []


@pytest.mark.parametrize(("line", "is_told"), [("", True), ("GETTRUNCATES", False), ("IGNORETRUNCATES", False)])
def test_truncates_that_nobody_asks_for_are_told(line: str, is_told: bool, tmp_path: Path) -> None:
    found = [one.what for one in read(tmp_path, line, "TABLE hr.*;").findings]
    assert ("IGNORETRUNCATES" in found) is is_told
    assert "IGNORETRUNCATES" not in [one.what for one in read(tmp_path, "DDL INCLUDE ALL", "TABLE hr.*;").findings]


def passed_over(line: str, tmp_path: Path) -> bool:
    """Is a TABLE of hr.zz in the line neither read nor refused?"""
    try:
        found = read(tmp_path, line, "GETTRUNCATES")
    except ConfigError:
        return False
    return not refused(found) and "hr.zz" not in str(found.to_json().get("tables"))


@pytest.mark.parametrize("arguments", ["", " x", " x, y 10", " (a b)", " 'a' b"])
def test_a_table_behind_any_parameter_is_read_or_refused(arguments: str, tmp_path: Path) -> None:
    assert [one for one in PARAMETERS if passed_over(f"{one}{arguments} TABLE hr.zz;", tmp_path)] == []


def test_a_refused_parameter_behind_any_other_is_refused(tmp_path: Path) -> None:
    safe = [name for name, entry in PARAMETERS.items() if entry.fate is Fate.SAFE]
    assert [one for one in safe if not refused(read(tmp_path, f"{one} a, HANDLECOLLISIONS", "TABLE hr.zz;"))] == []
