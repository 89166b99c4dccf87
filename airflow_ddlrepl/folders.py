"""This module makes folders that only their owner can look into, whatever the umask is."""

from __future__ import annotations

import contextlib
from pathlib import Path

PRIVATE = 0o700


def private_folder(folder: Path) -> Path:
    """Make the folders that are missing, each private to its owner; existing ones stay as they are."""
    if not folder.is_dir():
        private_folder(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=PRIVATE)
    return folder
