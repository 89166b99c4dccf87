"""docs/channel.md says what the models say."""

from __future__ import annotations

import re
from pathlib import Path

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.config.file.reference_page import markdown

PAGE = Path(__file__).parents[2] / "docs" / "channel.md"


def test_the_page_is_generated() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), (
        "python -m airflow_ddlrepl.config.file.reference_page > docs/channel.md"
    )


def test_its_example_is_valid() -> None:
    found = re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    assert read_channel(found.group(1)).name == "shop"
