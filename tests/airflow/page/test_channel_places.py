"""Where the API server finds a channel: by the file that the DAG's tasks name, or where `[ddlrepl] repository` says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.models.serialized_dag import SerializedDagModel

from airflow_ddlrepl.errors import ConfigError, Unreachable
from airflow_ddlrepl.plugin import health as health_of_channels
from airflow_ddlrepl.plugin.channel_places import ChannelPlaces
from airflow_ddlrepl.plugin.health import Health
from airflow_ddlrepl.repository.repository import Repository
from tests.airflow.support import shop


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A channel file with a schedule, which the tasks of the DAG name."""
    found = shop.write_channel(tmp_path, tmp_path, "shop", "a", "b", schedule="*/5 * * * *")
    serialize(monkeypatch, str(found))
    return found


def serialize(patch: pytest.MonkeyPatch, file: Any) -> None:
    tasks = [{"__var": {"task_id": "end"}}, {"__var": {"task_id": "capture", "channel": file}}]
    patch.setattr(SerializedDagModel, "get", lambda _: SimpleNamespace(data={"dag": {"tasks": tasks}}))


def test_the_repository_is_that_of_the_file_and_the_interval_that_of_its_schedule(file: Path) -> None:
    Repository.open(f"sqlite:///{file.parent}/shop.db").close()
    place = ChannelPlaces().place("shop")
    assert (place.file, place.interval) == (str(file), 300)
    assert place.repository.channel("shop") is None


def test_a_page_makes_no_repository(file: Path) -> None:
    with pytest.raises(ConfigError, match="CFG-412"):
        ChannelPlaces().place("shop")
    assert not (file.parent / "shop.db").exists()


@pytest.mark.parametrize(("named", "code"), [("/absent/shop.yaml", "CFG-410"), (None, "CFG-410")])
def test_a_missing_file_is_told_with_the_setting_that_helps(
    monkeypatch: pytest.MonkeyPatch, named: str | None, code: str
) -> None:
    serialize(monkeypatch, named)
    with pytest.raises(ConfigError, match=code) as caught:
        ChannelPlaces().place("shop")
    assert "[ddlrepl] repository" in caught.value.hint


def test_a_file_of_another_channel_shows_nothing_of_it(file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text().replace("channel: shop", "channel: secret"))
    Repository.open(f"sqlite:///{tmp_path}/shop.db").close()
    with pytest.raises(ConfigError, match="CFG-411"):
        ChannelPlaces().place("shop")


def test_the_setting_wins_and_needs_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    serialize(monkeypatch, "/absent/shop.yaml")
    monkeypatch.setenv("AIRFLOW__DDLREPL__REPOSITORY", "ddlrepl_repository")
    monkeypatch.setenv("AIRFLOW_CONN_DDLREPL_REPOSITORY", "postgres://anna:pw@127.0.0.1:1/x")
    place = ChannelPlaces().place("shop")
    assert repr(place.repository) == "Repository('postgresql://anna:***@127.0.0.1:1/x')"
    assert place.interval is None
    monkeypatch.setenv("AIRFLOW__DDLREPL__REPOSITORY", f"sqlite:///{tmp_path}/other.db")
    Repository.open(f"sqlite:///{tmp_path}/other.db").close()
    assert "other.db" in repr(ChannelPlaces().place("shop").repository)


def test_a_repository_that_does_not_answer_is_asked_once_for_all_its_channels(
    monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    Repository.open(f"sqlite:///{file.parent}/shop.db").close()
    asked: list[str] = []

    def away(_: Any, channel: str, *__: Any, **___: Any) -> Any:
        asked.append(channel)
        raise Unreachable("repository x can't be reached", code="CON-120", hint="start it")

    monkeypatch.setattr(health_of_channels, "channel_line", away)
    health = Health()
    place = health._places.place("shop")
    monkeypatch.setattr(health._places, "place", lambda _: place)
    found = health.summaries(["shop", "second", "third"])
    assert asked == ["shop"]
    assert {one["verdict"]["level"] for one in found} == {"unknown"}
    assert all("CON-120" in one["verdict"]["reason"] for one in found)
    assert found[0]["verdict"]["remedy"]["text"] == "start it"


def test_many_readers_are_one_question(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    Repository.open(f"sqlite:///{file.parent}/shop.db").close()
    asked: list[str] = []

    def count(_: Any, channel: str, *__: Any, **___: Any) -> Any:
        asked.append(channel)
        return health_of_channels.unread(channel, ConfigError("x", code="CFG-412"))

    monkeypatch.setattr(health_of_channels, "channel_health", count)
    health = Health()
    assert [health.channel("shop")["channel"] for _ in range(5)] == ["shop"] * 5
    assert asked == ["shop"]
