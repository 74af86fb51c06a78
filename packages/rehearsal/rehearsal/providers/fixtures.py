"""Creates what existed in a cloud before the stack."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from components.settings import from_stack_file
from facts import catalog
from rehearsal.providers.base import CallContext, Created, Properties, Provider, ProviderError


def create_fixtures(stack_file: Path, provider: Provider, *, with_cluster: bool = True) -> None:
    """Create the cluster, network, reservations and so on that ``stack_file`` names, in the cloud of ``provider``.

    Without ``with_cluster`` another program makes the cluster. A cloud's ``fixtures.resources`` yields the resources;
    each ``send`` returns the created one. Raises ProviderError: the cloud refuses it.
    """
    settings = from_stack_file(stack_file)
    if not with_cluster:
        settings = replace(settings, file=settings.file.model_copy(update={"existing_cluster": None}))
    provider.reserve(settings.gpu_pools)
    module = f"rehearsal.providers.{settings.cloud}.fixtures"
    if find_spec(module) is None:
        return
    resources = import_module(module).resources
    there = provider.instance()
    there.configure({catalog.of(settings.cloud).account.key.partition(":")[2]: settings.project})
    fixtures: Generator[tuple[str, Properties], Created | None, None] = resources(settings)
    created: Created | None = None
    for number in itertools.count():
        try:
            token, inputs = fixtures.send(created)
        except StopIteration:
            return
        request = CallContext(urn="", type=token, name=f"fixture-{number}")
        checked, failures = there.check(request, {}, inputs)
        if failures:
            raise ProviderError("; ".join(f"{failure.property}: {failure.reason}" for failure in failures))
        created = there.found(request, checked)
