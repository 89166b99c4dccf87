"""A copy of the tree in which a mutation is applied, its marked tests run, and the file put back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.mutations.marked_tests import VARIABLE
from tests.mutations.mutation import ROOT, Mutation

LONGEST = 1200
"""Seconds that the tests of one mutation have."""


class MutatedCopy:
    """A copy of the tree as it is, uncommitted files too; `with` makes and removes it."""

    def __enter__(self) -> MutatedCopy:
        self.folder = Path(tempfile.mkdtemp(prefix="ddlrepl-mutated-"))
        self.root = self.folder / "tree"
        command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
        names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        """Inside the `with` the behaviour is switched off. Raises Stale, SyntaxError."""
        file = self.root / mutation.file
        text = file.read_text(encoding="utf-8")
        changed = mutation.applied(text)
        if file.suffix == ".py":
            compile(changed, mutation.file, "exec")
        try:
            self._write(file, changed)
            yield
        finally:
            self._write(file, text)

    def _write(self, file: Path, text: str) -> None:
        file.write_text(text, encoding="utf-8")
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            compiled.unlink()  # two versions of one second and one size are the same to Python

    def marked(self) -> dict[str, dict[str, Any]]:
        """Every test that carries a requirement, with its marks."""
        (self.folder / "wanted.json").unlink(missing_ok=True)
        return self._pytest("--collect-only", "tests")

    def run(self, tests: Mapping[str, list[str]], *, is_mutated: bool) -> dict[str, dict[str, Any]]:
        """Run tests in this order, if is_mutated until each requirement has a failing one; return their outcomes."""
        (self.folder / "wanted.json").write_text(json.dumps({"tests": tests, "is_mutated": is_mutated}))
        return self._pytest(*sorted({name.partition("::")[0] for name in tests}))

    def _pytest(self, *arguments: str) -> dict[str, dict[str, Any]]:
        found = self.folder / "found.json"
        found.unlink(missing_ok=True)
        options = ["-q", "-n", "0", "-p", "tests.mutations.marked_tests", "-p", "no:cacheprovider"]
        environment = {**os.environ, VARIABLE: str(self.folder), "PYTHONPATH": str(self.root)}
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *arguments],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        if not found.exists():
            raise Broken((ran.stdout + ran.stderr)[-2000:])
        outcomes: dict[str, dict[str, Any]] = json.loads(found.read_text())
        if not outcomes:
            raise Broken((ran.stdout + ran.stderr)[-2000:])
        return outcomes


class Broken(Exception):
    """No test could run, as where the mutated module can't be imported: that shows nothing."""
