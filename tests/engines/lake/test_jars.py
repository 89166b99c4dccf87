"""Iceberg's jars: fetched once by Spark's resolver, checked, and retained."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import java
from airflow_ddlrepl.engines.lake.connection import jars
from airflow_ddlrepl.engines.lake.connection.session import session_properties
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.spark.session.settings import SparkSettings

CONTENT = {jar: f"the file {jar.file}".encode() for jar in (*jars.JARS, *jars.OF_STORES)}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for the jars, whose content is a line each."""
    for name in ("JARS", "OF_STORES"):
        found = getattr(jars, name)
        small = [jars.Jar(jar.coordinates, hashlib.sha256(CONTENT[jar]).hexdigest()) for jar in found]
        monkeypatch.setattr(jars, name, tuple(small))
    monkeypatch.setenv(jars.FOLDER, str(tmp_path / "jars"))
    return tmp_path / "jars"


def resolver(monkeypatch: pytest.MonkeyPatch, *names: str, said: str = "") -> list[list[str]]:
    """Have Spark's resolver get these files, each with its content, and say something; return its calls."""
    calls: list[list[str]] = []
    content = {jar.resolved_file: text for jar, text in CONTENT.items()}

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        ivy = next(word for word in command if word.startswith("spark.jars.ivy=")).partition("=")[2]
        Path(ivy, "jars").mkdir(exist_ok=True)
        for name in names:
            Path(ivy, "jars", name).write_bytes(content.get(name, b"something else"))
        return subprocess.CompletedProcess(command, 0, said, "")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(java, "home", lambda: "/java")
    return calls


def test_jars_are_fetched_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = resolver(monkeypatch, *(jar.resolved_file for jar in jars.JARS))
    assert [path.read_bytes() for path in jars.jars()] == list(CONTENT.values())[: len(jars.JARS)]
    assert jars.jars() == [folder / jar.file for jar in jars.JARS]
    assert len(calls) == 1
    assert ",".join(jar.coordinates for jar in jars.JARS) in calls[0]
    assert sorted(path.name for path in folder.iterdir()) == sorted(jar.file for jar in jars.JARS)


def test_what_an_object_store_needs_is_fetched_for_one_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = resolver(monkeypatch, *(jar.resolved_file for jar in CONTENT))
    lakes = ("iceberg:///a/catalog.db", "iceberg:///b/catalog.db?warehouse=s3://bucket/b")
    assert not any("aws" in path.name for path in map(Path, session_properties(lakes[0])["spark.jars"].split(",")))
    for targets in (lakes, lakes[::-1]):
        found = SparkSettings("local[2]", targets=targets).with_engines()["spark.jars"].split(",")
        assert found == [str(folder / jar.file) for jar in CONTENT]
    assert len(calls) == 2 and jars.OF_STORES[0].coordinates in calls[1] and jars.JARS[0].coordinates not in calls[1]


def test_jars_that_a_person_has_put_there_are_taken_without_a_network(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = resolver(monkeypatch)
    folder.mkdir()
    for jar, content in CONTENT.items():
        (folder / jar.file).write_bytes(content)
    assert len(jars.jars()) == len(jars.JARS)
    assert not calls


def test_jars_that_cannot_be_fetched_are_named_with_their_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried three times: a registry that does not answer may do so a little later."""
    calls = resolver(
        monkeypatch, jars.JARS[0].resolved_file, said="x\n\t:: org.xerial#sqlite-jdbc;3.50.3.0: not found\ny"
    )
    with pytest.raises(ConfigError, match=r"sqlite-jdbc;3\.50\.3\.0: not found") as caught:
        jars.jars()
    assert caught.value.code == "CFG-413" and len(calls) == 3
    assert str(folder) in str(caught.value.hint)
    assert all(jar.file in str(caught.value.hint) for jar in jars.JARS)
    assert not list(folder.iterdir())


def test_a_file_that_is_another_one_is_not_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolver(monkeypatch, *(jar.resolved_file for jar in jars.JARS))
    jars.jars()
    (folder / jars.JARS[1].file).write_bytes(b"half of i")
    with pytest.raises(ConfigError, match="checksum") as caught:
        jars.jars()
    assert f"remove {folder / jars.JARS[1].file}" in str(caught.value.hint)


def test_what_the_resolver_gets_under_a_right_name_is_checked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolver(monkeypatch, *(jar.resolved_file for jar in jars.JARS))
    right = jars.JARS[1]
    monkeypatch.setattr(jars, "JARS", (jars.JARS[0], jars.Jar(right.coordinates, "0" * 64)))
    with pytest.raises(ConfigError, match="another checksum"):
        jars.jars()
    assert not list(folder.iterdir())


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(jars.FOLDER, str(tmp_path / "file" / "jars"))
    with pytest.raises(ConfigError, match="can't be fetched into"):
        jars.jars()
