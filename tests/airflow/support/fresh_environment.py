"""A fresh virtual environment for a wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

FULL = "DDLREPL_FRESH_INSTALL"
"""Set: nothing is shared with this environment, pip gets every package. That takes many minutes."""

_OWN = ("airflow_ddlrepl", "__editable__", "_virtualenv", "distutils-precedence.pth", "pip", "setuptools")
_AIRFLOW = """#!{python}
from airflow.__main__ import main

main()
"""


def fresh_environment(folder: Path) -> Path:
    """A virtual environment in `folder` without the product; the path of its Python.

    The packages that the product needs are those of this environment, by symbolic links, as if they had been installed
    already: pip checks every requirement, and installs what is not there.
    """
    make = [str(Path(__file__).parents[3] / ".ci" / "make-venv"), str(folder)]
    subprocess.run(make, env={**os.environ, "PYTHON": sys.executable}, check=True, timeout=180)
    python = folder / "bin" / "python"
    if not os.environ.get(FULL):
        shared = folder / "shared"
        shared.mkdir()
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if not entry.name.startswith(_OWN):
                (shared / entry.name).symlink_to(entry)
        site = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        (site / "shared.pth").write_text(f"{shared}\n")
        command = folder / "bin" / "airflow"
        command.write_text(_AIRFLOW.format(python=python))
        command.chmod(0o755)
    return python
