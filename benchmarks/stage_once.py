"""One stage in a process of its own: `python -m benchmarks.stage_once CHANNEL.yaml STAGE TABLE`.

STAGE: capture, refresh, integrate or instantiate.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from airflow_ddlrepl.flow.streams.instantiation.instantiate import instantiate
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from benchmarks import ours


def main(channel: str, stage: str, table: str) -> None:
    runner = SparkRunner()
    try:
        if stage != "instantiate":
            ours.warm(runner)
        with ours.opened(Path(channel), runner) as mine:
            stages: dict[str, Callable[[], object]] = {
                "capture": mine.capture,
                "integrate": mine.integrate,
                "refresh": partial(mine.refresh, table),
                "instantiate": partial(instantiate, mine.run, "copy"),
            }
            stages[stage]()
    finally:
        runner.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
