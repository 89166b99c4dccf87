"""The settings of a table at a target are one value, stored as the text that targets have had since the first version.

A text that is written otherwise, or read as another value, would look like a change of the file at every channel.
"""

from __future__ import annotations

import gc
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.config.sections import channel_at
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.stored import settings_from_text, settings_to_text
from airflow_ddlrepl.model.settings.table_settings import NO_SETTINGS
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded" / "settings.json").read_text("utf-8"))
"""Sections of a file, and the texts that a former version stored for the table sales.orders, by target."""
ORDERS = TableName("sales", "orders")
SAYS_NOTHING = "[{}]"
"""The text that a former version wrote of a section whose values are all as by default."""


def channel(sections: dict[str, Any], extract: Any = None, replicat: Any = None) -> Channel:
    source = {"location": "postgresql://app@localhost/shop", "tables": ["*.*"]}
    target = {"name": "berlin", "location": "postgresql://dw@localhost/berlin"}
    data = {
        "source": {**source, **({"extract": extract} if extract else {})},
        "targets": [{**target, **({"replicat": replicat} if replicat else {})}],
        "replays": [{"name": "past", "location": "postgresql://dw@localhost/past"}],
        **sections,
    }
    head = "channel: shop\nrepository: sqlite:///r.db\ntrail: t\n"
    return read_channel(head + "".join(f"{key}: {json.dumps(value)}\n" for key, value in data.items()))


def recorded(case: str) -> Channel:
    one = RECORDED[case]
    return channel(one.get("sections", {}), one.get("extract"), one.get("replicat"))


@pytest.mark.parametrize("target", ["berlin", "past"])
@pytest.mark.parametrize("case", RECORDED)
def test_a_recorded_text_is_read_as_what_the_file_says_and_written_as_it_was(case: str, target: str) -> None:
    text, settings = RECORDED[case]["texts"][target], recorded(case).at(target).settings(ORDERS)
    read = settings_from_text(text)
    assert read == settings and hash(read) == hash(settings)
    assert settings_to_text(settings) == settings_to_text(read) == ("" if text == SAYS_NOTHING else text)
    assert (settings is NO_SETTINGS) == (text in ("", SAYS_NOTHING))


def test_recorded_texts_are_as_different_as_their_settings() -> None:
    texts = {text for one in RECORDED.values() for text in one["texts"].values()} - {SAYS_NOTHING}
    assert len({settings_from_text(text) for text in texts}) == len(texts) > 30


@pytest.mark.parametrize("case", RECORDED)
def test_a_state_with_settings_survives_json_and_another_process(case: str) -> None:
    settings = recorded(case).at("berlin").settings(ORDERS)
    state = TableState(1, ORDERS, Table(1, ORDERS, ()), settings=settings)
    assert TableState.from_json(json.loads(json.dumps(state.to_json()))) == state
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_settings_are_worked_out_once_and_go_with_their_channel() -> None:
    found = channel({"restrict": [{"condition": "a = 1"}]})
    assert found.at("berlin").settings(ORDERS) is found.at("berlin").settings(ORDERS)
    other = found.model_copy(update={"restrict": ()})
    assert other.at("berlin").settings(ORDERS) is NO_SETTINGS
    known = len(channel_at._known)
    del found, other
    gc.collect()
    assert len(channel_at._known) <= known - 2
