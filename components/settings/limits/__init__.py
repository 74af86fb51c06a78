"""Settings that are not supported: on any cloud (``common``), and on each cloud.

A cloud's module is imported on first use, so that a stack on one cloud never loads another's.
"""

from __future__ import annotations

from importlib import import_module

from components.settings.limits import common
from components.settings.problems import Problem
from components.settings.settings import Settings


def problems(settings: Settings) -> list[Problem]:
    """Problems of settings whose keys are all valid by themselves."""
    refused = refusals(settings)
    # If both refuse a key, the cloud's message is more precise.
    more_precise = {problem.path for problem in refused}
    return [problem for problem in common.settings_problems(settings) if problem.path not in more_precise] + refused


def refusals(settings: Settings) -> list[Problem]:
    """Settings that their cloud does not support, each once.

    A pool of several sizes, zones or with a fallback is several specs with the same problem.
    """
    return list(dict.fromkeys(import_module(f"components.settings.limits.{settings.cloud}").refusals(settings)))
