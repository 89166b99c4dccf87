"""Folders that only their owner can look into, whatever the umask says."""

from __future__ import annotations

import contextlib
from pathlib import Path

PRIVATE = 0o700


def private_folder(folder: Path) -> Path:
    """Makes the folders that are missing, each private; those that are there stay as they are."""
    if not folder.is_dir():
        private_folder(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=PRIVATE)
    return folder
