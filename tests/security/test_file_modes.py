"""What we write belongs to its owner alone, whatever the umask; and no path leads out of where it belongs."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import pkgutil
import re
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import airflow_ddlrepl
from airflow_ddlrepl import java
from airflow_ddlrepl.config.file.load import load_channel, read_channel
from airflow_ddlrepl.config.file.yaml_document import MAX_NODES
from airflow_ddlrepl.errors import ConfigError, DdlReplError, TrailError
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.spark.jobs.result_file import Outcome
from airflow_ddlrepl.trail.segments import manifest_path
from airflow_ddlrepl.trail.store import Trail
from tests.trail.test_trail import HIGH, LOW, write_segment

CHANNEL = """
channel: shop
source: {location: "postgresql://reader:marker-geheim@here/shop", tables: ["*.*"]}
targets: [{name: warehouse, location: "postgresql://loader:marker-geheim@there/dw"}]
repository: "postgresql://u:marker-geheim@h/r"
trail: "s3://key:marker-geheim@bucket/x"
spark: {remote: "sc://h:15002/;token=marker-geheim", conf: {spark.hadoop.fs.s3a.secret.key: marker-geheim}}
"""


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """What is not private below the folder."""
    found = {}
    for path in folder.rglob("*"):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & 0o077:
            found[str(path.relative_to(folder))] = oct(mode)
    return found


def test_everything_is_private(umask: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trail = Trail(str(tmp_path / "a" / "trail"), "shop")
    trail.publish(write_segment(trail))
    with Repository.open(f"sqlite:///{tmp_path}/b/c/repository.db") as repository:
        repository.ensure_channel("shop", "x")
        assert {f.name for f in (tmp_path / "b" / "c").iterdir()} >= {"repository.db", "repository.db-wal"}
        assert modes(tmp_path) == {}
    Outcome("capture", "shop", "run", 1.0).write(tmp_path / "d" / "e" / "result.json")
    monkeypatch.setattr(java, "state_folder", lambda: tmp_path / "h" / "state")
    assert os.access(java._wrapped(Path("/nowhere/it's")) / "bin" / "java", os.X_OK)
    assert modes(tmp_path) == {}


def test_a_repository_that_others_could_read_is_closed(tmp_path: Path) -> None:
    (tmp_path / "repository.db").touch(mode=0o666)
    Repository.open(f"sqlite:///{tmp_path}/repository.db").close()
    assert modes(tmp_path) == {}


@pytest.mark.parametrize("path", ["../../other/e0/data/x.parquet", "/etc/passwd", "e0/../../../x", "link/x.parquet"])
def test_a_manifest_can_not_name_what_lies_outside(tmp_path: Path, path: str) -> None:
    """Neither to be read, nor to be deleted by retention, which removes what lies in the segment's own folder."""
    trail = Trail(str(tmp_path / "trail"), "shop")
    segment = trail.publish(write_segment(trail))
    outside = tmp_path / "other" / "e0" / "data" / "x.parquet"
    outside.parent.mkdir(parents=True)
    outside.write_bytes(b"somebody's")
    (tmp_path / "trail" / "shop" / "link").symlink_to(outside.parent)
    (part,) = segment.parts
    forged = replace(segment, parts=(replace(part, files=(replace(part.files[0], path=path),)),))
    manifest = tmp_path / "trail" / "shop" / manifest_path(0, LOW)
    manifest.unlink()
    manifest.write_text(json.dumps(forged.to_json()))
    read = trail.segment(0, LOW)
    with pytest.raises(TrailError, match="TRL-105"):
        for file in read.files():
            trail.verify(file.blob)
    assert trail.expire(HIGH) == 1
    assert outside.read_bytes() == b"somebody's"


def test_a_linked_folder_is_not_swept(tmp_path: Path) -> None:
    trail = Trail(str(tmp_path / "trail"), "shop")
    trail.publish(write_segment(trail))
    outside = tmp_path / "precious"
    outside.mkdir()
    (outside / "x.parquet").write_text("somebody's")
    (tmp_path / "trail" / "shop" / "e0" / "data" / "linked").symlink_to(outside)
    try:
        trail.sweep(-1)
    except TrailError as error:
        assert error.code == "TRL-105"
    assert (outside / "x.parquet").exists()


@pytest.mark.parametrize(
    "text",
    [
        "channel: !!python/object/apply:os.system ['touch {folder}/pwned']",
        "channel: !!python/name:os.system",
        "!!python/object/new:subprocess.Popen [['touch', '{folder}/pwned']]",
        "channel: !!python/module:os",
        "channel: !ruby/object:Gem::Installer {{i: x}}",
    ],
)
def test_yaml_makes_no_objects(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="CFG-101"):
        read_channel(text.format(folder=tmp_path))
    assert not list(tmp_path.iterdir())


def test_yaml_can_not_blow_up() -> None:
    billion = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    merged = "a0: &a0 {a: 1, b: 2}\n"
    for n in range(1, 12):
        billion += f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n"
        merged += f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n"
    circle = "channel: &c [*c]\n"
    deep = "channel: " + "[" * 900 + "]" * 900
    for text in (billion, merged, circle, deep, "- x\n" * (MAX_NODES + 1)):
        with pytest.raises(ConfigError, match="CFG-101"):
            read_channel(text)


def test_nothing_that_can_be_printed_shows_a_password(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(CHANNEL)
    channel = load_channel(file)
    for text in (repr(channel), str(channel), repr(channel.spark), repr(channel.targets), channel.fingerprint()):
        assert "geheim" not in text
    for wrong in (
        ("reader:marker-geheim@here", "reader:marker-geheim@he re:x"),
        ("postgresql://loader", "mysql://loader"),
        ("name: warehouse", "nam: warehouse"),
        ("remote:", "remote: [1], x:"),
        ('location: "postgresql://loader:marker-geheim@there/dw"', "location: [marker-geheim]"),
        ('trail: "s3', 'trail: "ftq'),
        ("channel: shop", "channel: *marker"),
        ("tables: [", "tables: [marker-geheim, "),
    ):
        assert wrong[0] in CHANNEL
        try:
            channel = read_channel(CHANNEL.replace(*wrong))
            Trail(channel.trail, channel.name)
        except DdlReplError as error:
            if "tables" not in wrong[0]:
                assert "geheim" not in f"{error} {error!r} {error.__cause__!r}", wrong


SECRET = re.compile(r"(^|_)(dsn|location|url|remote|password|secret|conf|key_bytes)$")
ELSEWHERE = re.compile(r"\.(demo|operators|hooks|migrations|bundles|provider|channel_dags|dags|spark_apps|__main__)\b")


def dataclasses_of_ours() -> Iterator[Any]:
    for module in pkgutil.walk_packages(airflow_ddlrepl.__path__, "airflow_ddlrepl."):
        if ELSEWHERE.search(module.name):
            continue
        loaded = importlib.import_module(module.name)
        yield from (one for one in vars(loaded).values() if dataclasses.is_dataclass(one) and isinstance(one, type))


def test_no_value_of_ours_shows_a_location_in_its_text() -> None:
    """Tasks, settings and the like stand in logs and tracebacks."""
    fields = {(one.__name__, f.name): f.repr for one in dataclasses_of_ours() for f in dataclasses.fields(one)}
    assert len(fields) > 200
    shown = sorted(place for place, is_shown in fields.items() if is_shown and SECRET.search(place[1]))
    assert shown == []
