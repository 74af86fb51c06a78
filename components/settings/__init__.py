"""Stack file → typed, frozen settings, with all problems at once. Importing this loads no Pulumi."""

from __future__ import annotations

from components.settings.loading import load
from components.settings.problems import Problem, SettingsError
from components.settings.settings import Settings
from components.settings.source import from_pulumi, from_stack_file

__all__ = ["Problem", "Settings", "SettingsError", "from_pulumi", "from_stack_file", "load"]
