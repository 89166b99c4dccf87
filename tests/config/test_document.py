"""What YAML makes of a text that means something else to its writer."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.errors import ConfigError

CHANNEL = """\
channel: shop
source: {location: db, tables: ["*.*"]}
targets: [{name: warehouse, location: db2, schemas: {%s}}]
%s
"""


@pytest.mark.parametrize("name", ["no", "on", "010", "2024", "1_000", "1.10", "null", "2026-11-21", "'quoted'"])
def test_a_key_is_the_text_that_stands_there(name: str) -> None:
    """A schema of that name would silently not be mapped."""
    channel = read_channel(CHANNEL % (f"{name}: x", ""))
    assert channel.targets[0].schemas == {name.strip("'"): "x"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("lock: {lease_seconds: 0100}", "no decimal number"),  # 64
        ("capture: {parallel: -010}", "no decimal number"),
        ("lock: {lease_seconds: 10:00}", "no decimal number"),  # 600
        ("spark: {conf: {spark.some.secret: 0123456}}", "no decimal number"),
        ("schedule: 2026-13-45", "can't be read as timestamp"),
        ("schedule: !!timestamp x", "can't be read as timestamp"),
        ("schedule: !!bool maybe", "can't be read as bool"),
        ("schedule: !!float ''", "can't be read as float"),
        (f"schedule: {'9' * 5000}", "can't be read as int"),
    ],
)
def test_a_value_that_would_be_another_one_is_refused_with_its_line(line: str, told: str) -> None:
    with pytest.raises(ConfigError, match=rf"CFG-101: shop\.yaml:4: .*{told}") as caught:
        read_channel(CHANNEL % ("", line), "shop.yaml")
    assert "123456" not in str(caught.value)
