"""`extract` and `replicat` of a channel file may be paths of GoldenGate's parameter files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl.cli import commands
from airflow_ddlrepl.config.file.load import load_channel, read_channel
from airflow_ddlrepl.config.sections.policies import OnError
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.names import TableName

EXTRACT = """
EXTRACT ext
USERID gg, PASSWORD secret
DDLOPTIONS ADDTRANDATA
DDL INCLUDE MAPPED
TABLE hr.*;
"""
REPLICAT = """
REPLICAT rep
DDL INCLUDE MAPPED &
  EXCLUDE OBJNAME bk.tmp
DDLERROR 955 IGNORE
MAP hr.*, TARGET bk.*;
"""


def channel(folder: Path, extract: Any = "dirprm/e.prm", replicat: Any = "dirprm/r.prm", **files: str) -> Path:
    (folder / "dirprm").mkdir()
    for name, text in {"e": EXTRACT, "r": REPLICAT, **files}.items():
        (folder / "dirprm" / f"{name}.prm").write_text(text.lstrip())
    file = folder / "shop.yml"
    source = {"location": "postgresql://a/b", "tables": ["*.*"], "extract": extract}
    target = {"name": "w", "location": "postgresql://c/d", "replicat": replicat}
    file.write_text(yaml.safe_dump({"channel": "shop", "source": source, "targets": [target]}, sort_keys=False))
    return file


def refused(file: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_channel(file)
    assert caught.value.code == "CFG-101"
    return [line for line in caught.value.message.splitlines() if str(file) in line]


def test_the_files_are_read_with_the_channel(tmp_path: Path) -> None:
    file = channel(tmp_path)
    found = load_channel(file)
    assert found.source.extract is not None and found.source.extract.tables[0] is not None
    target = found.target("w")
    assert target.replicat is not None and target.replicat.errors[0].error == "42P07"
    assert target.on_error is OnError.STOP
    assert str(found.at("w").target_name(TableName("hr", "pay"))) == "bk.pay"
    before = found.fingerprint()
    (tmp_path / "dirprm" / "r.prm").write_text(REPLICAT.replace("IGNORE", "DISCARD"))
    assert load_channel(file).fingerprint() != before


def test_what_needs_attention_is_a_warning_of_the_check(tmp_path: Path) -> None:
    checked = commands.check(channel(tmp_path)).to_json()
    assert isinstance(checked, dict)
    (found,) = [one for one in checked["warnings"] if ".prm" in one]
    assert found.startswith(f"{tmp_path}/dirprm/e.prm:3:12: DDLOPTIONS ADDTRANDATA")
    assert "secret" not in str(checked)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"r": REPLICAT + "SQLEXEC 'x';\n"}, "{folder}/dirprm/r.prm:6:1: SQLEXEC"),
        ({"r": REPLICAT.replace("bk.*;", "bk.*")}, "{folder}/dirprm/r.prm:5:"),
        ({"r": EXTRACT}, "{folder}/dirprm/r.prm:1:1: it is the file of extract"),
        ({"r": REPLICAT + "DDL INCLUD MAPPED\n"}, "{folder}/dirprm/r.prm:6:"),
        ({"replicat": "dirprm/none.prm"}, "{folder}/dirprm/none.prm"),
    ],
)
def test_what_is_refused_has_its_place(tmp_path: Path, files: dict[str, str], problem: str) -> None:
    file = channel(tmp_path, **files)
    (line,) = refused(file)
    assert line.startswith(f"{file}:10: targets[0].replicat: "), line
    assert problem.format(folder=tmp_path) in line


def test_a_text_without_a_folder_has_no_files(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"source\.extract: the path of a parameter file is for a channel file on disk"
    ):
        read_channel(channel(tmp_path).read_text())
