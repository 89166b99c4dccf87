"""Which targets may gather changes, and for how long."""

from __future__ import annotations

from airflow_ddlrepl.config.file.load import read_channel
from tests.config.test_channel_file import SMALLEST, refused


def test_apply_every_is_a_duration_for_targets_alone() -> None:
    assert read_channel(SMALLEST, "shop.yaml").targets[0].apply_every == 0
    assert read_channel(f"{SMALLEST}    apply_every: 15m\n", "shop.yaml").targets[0].apply_every == 900
    assert "shop.yaml:8" in refused(f"{SMALLEST}    apply_every: soon\n")
    replays = "replays:\n  - {name: past, location: postgresql://dw@localhost/past, apply_every: 15m}\n"
    assert "replay past has apply_every, which is for targets" in refused(SMALLEST + replays)
    head = SMALLEST.partition("targets:")[0]
    streams = "streams:\n  targets:\n    - {name: copy, apply: a, location: postgresql://c, apply_every: 15m}\n"
    told = refused(head + streams)
    assert "shop.yaml:7: streams.targets[0]" in told and "applies what is in its queue whenever it runs" in told
