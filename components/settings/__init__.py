"""Stack file → typed, frozen settings, with all problems at once. Importing this loads no Pulumi."""

from __future__ import annotations

from components.settings.fields.problems import Problem, SettingsError
from components.settings.pools.settings import Settings
from components.settings.read import WITHOUT_ACCOUNT, from_pulumi, from_stack_file, load, of_running_stack, parsed

__all__ = [
    "WITHOUT_ACCOUNT",
    "Problem",
    "Settings",
    "SettingsError",
    "from_pulumi",
    "from_stack_file",
    "load",
    "of_running_stack",
    "parsed",
]
