"""What `ddlrepl import goldengate` makes of parameter files: each NAME.prm has what is expected of it in NAME.txt."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.prm.importing import import_goldengate, read_parameter_file
from airflow_ddlrepl.goldengate.prm.names import read_name

FOLDER = Path(__file__).parent / "parameter_files"
FILES = sorted(path.stem for path in FOLDER.glob("*.prm"))


def outcome(path: Path) -> str:
    """The text of an import, or of its error."""
    try:
        return f"{import_goldengate([path]).text()}\n"
    except ConfigError as error:
        return f"{error}\n"


@pytest.mark.parametrize("name", FILES)
def test_parameter_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    assert outcome(Path(f"{name}.prm")) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("bad_")])
def test_the_yaml_text_holds_the_same_parameters(name: str) -> None:
    read = import_goldengate([FOLDER / f"{name}.prm"])
    (file,) = read.files
    kind = ExtractParameters if file.section == "extract" else ReplicatParameters
    assert kind.model_validate(yaml.safe_load(read.text())[file.section]) == file.parameters


def test_no_password_is_shown_or_stored() -> None:
    for name in ("logins", "several_ddl"):
        read = import_goldengate([FOLDER / f"{name}.prm"])
        assert "geheim" not in f"{read}{read.text()}{read.to_json()}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("EXTRACT e\nUSERID gg, PASSWORD 'geheim\nDDL INCLUDE MAPED", "3:13: DDL can't have MAPED here: did you mean"),
        ("EXTRACT e\nDDLOPTIONS DEFAULTUSERPASSWORD 'geheim", "2:32: this quote of DDLOPTIONS is not closed"),
        ("EXTRACT e\nDDLOPTIONS REPORT PASSWORD, geheim", "2:29: DDLOPTIONS can't have this here"),
    ],
)
def test_no_error_shows_a_password(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "e.prm"
    file.write_text(text)
    with pytest.raises(ConfigError, match="CFG-161") as caught:
        read_parameter_file(file)
    assert f"e.prm:{message}" in caught.value.message
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "pattern", "catalog"),
    [
        ("hr.t*", "hr.t*", ""),
        ("cdb.hr.t?", "hr.t?", "cdb"),
        ('"Hr"."Sales*"', '"Hr"."Sales"*', ""),
        ('"hr.t*"', "hr.t*", ""),
        ("'hr.t*'", "hr.t*", ""),
        (r"hr.a\*b", 'hr.a"*"b', ""),
        ("hr.a-b", 'hr.a"-"b', ""),
        ('hr."a""b"', 'hr."a""b"', ""),
    ],
)
def test_names(written: str, pattern: str, catalog: str) -> None:
    assert read_name(written)[:2] == (pattern, catalog)


def test_files_of_one_side_and_of_none() -> None:
    two = [FOLDER / "shop_extract.prm", FOLDER / "no_ddl.prm"]
    with pytest.raises(ConfigError, match="CFG-163"):
        import_goldengate(two)
    with pytest.raises(ConfigError, match="CFG-160"):
        import_goldengate([FOLDER / "nowhere.prm"])


@pytest.mark.parametrize("name", ["/etc/hostname", "../hostname", "up/../../hostname"])
def test_an_include_reads_nothing_outside_the_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "dirprm"
    folder.mkdir()
    (tmp_path / "hostname").write_text("TABLE a.b;")
    (folder / "e.prm").write_text(f"EXTRACT e\nOBEY {name}\n")
    with pytest.raises(ConfigError, match=r"hostname is not beside e\.prm"):
        read_parameter_file(folder / "e.prm")


def test_a_macro_that_expands_to_itself_ends(tmp_path: Path) -> None:
    file = tmp_path / "e.prm"
    file.write_text("EXTRACT e\nMACRO #a BEGIN #a () END;\n#a ()\n")
    with pytest.raises(ConfigError, match="3:1: macro #a expands to itself"):
        read_parameter_file(file)
