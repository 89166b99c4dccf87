"""Every key of the channel file has an effect when it changes after activation, and the page says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.config.file.key_effects import EFFECTS, Effect, effect_of
from airflow_ddlrepl.config.sections.channel import Channel

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def sections() -> dict[str, set[str]]:
    """The keys that a channel file may have, as its JSON Schema has them, by the class of their section."""
    schema = Channel.model_json_schema(by_alias=True)
    parts = {"Channel": schema, **schema["$defs"]}
    return {name: set(part["properties"]) for name, part in parts.items() if part.get("properties")}


def test_every_key_has_one_effect_and_no_other_key_has_one() -> None:
    listed = {name: [key for keys in effects.values() for key in keys.split()] for name, effects in EFFECTS.items()}
    assert {name: set(keys) for name, keys in listed.items()} == sections()
    assert all(len(keys) == len(set(keys)) for keys in listed.values())


def test_a_key_without_an_effect_is_an_error() -> None:
    assert effect_of("Source", "tables") is Effect.SOURCE
    with pytest.raises(KeyError, match=r"Source\.colour"):
        effect_of("Source", "colour")


@pytest.mark.parametrize("effect", Effect)
def test_the_page_says_what_each_effect_is(effect: Effect) -> None:
    assert any(line.startswith("|") and effect.value in line for line in PAGE.read_text().splitlines())
