"""What is thrown away lies in memory: on a disk, making and dropping a database costs up to ten times as much."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import psutil

SHARED = Path("/dev/shm")
ROOM = 6 * 2**30
"""Bytes; more than the servers of a whole run use at once."""


def folder() -> Path | None:
    """Where memory can be used as a disk; None where there is little of it, or programs can not run there."""
    if not SHARED.is_dir() or os.statvfs(SHARED).f_flag & os.ST_NOEXEC:
        return None
    room = min(shutil.disk_usage(SHARED).free, psutil.virtual_memory().available)
    return SHARED if room >= ROOM else None
