"""One capture in a process of its own: `python -m benchmarks.capture_once CHANNEL.yaml EXPECTED_ROWS`."""

from __future__ import annotations

import sys
from pathlib import Path

from airflow_ddlrepl.spark.runner import SparkRunner
from benchmarks import ours


def main(channel: str, expected: str) -> None:
    runner = SparkRunner()
    try:
        ours.warm(runner)
        with ours.opened(Path(channel), runner) as mine:
            mine.capture(int(expected))
    finally:
        runner.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
