"""What is not supported although every key is valid by itself: on any cloud (``common``), and on each cloud.

A cloud's module is imported on first use, so that a stack on one cloud never loads another's. It has ``CHECKS``, which
are run one by one: one that needs a key that is not valid yet is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, TypeVar

from components.settings.fields.answers import Words
from components.settings.fields.problems import Problem
from components.settings.fields.types import NotValidYet
from components.settings.limits import common, joining
from components.settings.pools.settings import Settings
from facts.catalog import CloudCatalog

File = TypeVar("File")


@dataclass(frozen=True)
class Checked:
    """The problems that checks found, each once, and whether ``all`` of them could be run."""

    problems: tuple[Problem, ...]
    all: bool


def problems(settings: Settings) -> Checked:
    """What a stack on a cloud asks for that is not supported."""
    try:
        joined = settings.existing_cluster is not None
    except NotValidYet:  # until then nobody knows what the file is about
        return Checked((), all=False)
    own = run(import_module(f"components.settings.limits.{settings.cloud}").CHECKS, settings)
    if joined:
        own = replace(own, problems=tuple(each for each in own.problems if joining.is_of_pools(each.path)))
    shared = run(common.OF_POOLS if joined else common.CHECKS, settings)
    # If both refuse a key, the cloud's message is more precise.
    more_precise = {problem.path for problem in own.problems}
    rest = [problem for problem in shared.problems if problem.path not in more_precise]
    return Checked((*rest, *own.problems), own.all and shared.all)


def of_pools(raw: Mapping[str, Any], known: CloudCatalog) -> tuple[Mapping[str, Any], list[Problem]]:
    """The keys of a file with ``existingCluster`` that are about its pools, and a problem for each of the others."""
    written = raw[joining.KEY]
    if isinstance(written, Mapping) and written:
        return joining.belonging_to_cluster(raw, known.choices)
    # Until the cluster has a name, nobody knows which keys are too many. A network is not missing.
    return {**raw, "network": raw["network"] or joining.UNSEEN_NETWORK}, []


def refusals(settings: Settings) -> list[Problem]:
    """What the stack's cloud alone does not support."""
    return [*run(import_module(f"components.settings.limits.{settings.cloud}").CHECKS, settings).problems]


def run(checks: Sequence[Callable[[File], Iterable[Problem]]], file: File) -> Checked:
    """The problems of a file, or of its settings.

    A pool of several sizes, zones or with a fallback is several specs with the same problem, which counts once.
    """
    found: dict[Problem, None] = {}
    complete = True
    for check in checks:
        try:
            for problem in check(file):
                found.setdefault(problem)
        except NotValidYet:
            complete = False
    return Checked(tuple(found), complete)


def answers(cloud: str, autoscaler: str) -> Words:
    """The answers to words that a stack file on this cloud does not have."""
    rows = import_module(f"components.settings.limits.{cloud}.answers").ANSWERS
    return Words(cloud=cloud, autoscaler=autoscaler, of_cloud=rows)


def answers_of_own_machines(cloud: str) -> Words:
    """The same without a cloud's machines."""
    return Words(refused=import_module(f"components.settings.limits.{cloud}.refused").REFUSED)
