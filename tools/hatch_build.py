"""Compiles the rule base into the wheel, so that the first run need not do it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledRules(BuildHookInterface[Any]):
    """Puts files beside the rules of a wheel. An editable install has none: its rules change."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile with the code that goes into the wheel."""
        if self.target_name != "wheel" or version == "editable":
            return
        sys.path.insert(0, self.root)
        try:
            from diagnoser.rules.loader import shipped

            made = shipped(Path(self.root) / "rules")
        finally:
            sys.path.remove(self.root)
        self._folder = Path(tempfile.mkdtemp())
        for name, content in made.items():
            (self._folder / name).write_bytes(content)
            build_data["force_include"][str(self._folder / name)] = f"diagnoser/_rules/compiled/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        if self.target_name == "wheel" and version != "editable":
            shutil.rmtree(self._folder, ignore_errors=True)
