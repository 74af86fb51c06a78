"""The program under test, with the simulated AWS provider where the recorder would answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pulumi
import pytest

from packages.rehearsal.tests.providers.eks.account import Amazon
from tests import recorder


@contextmanager
def answers(amazon: Amazon) -> Iterator[None]:
    """Meanwhile the account answers for the program's resources of AWS in the recorder's place."""
    answered = recorder.Cloud.new_resource

    def new_resource(cloud: recorder.Cloud, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        if not args.typ.startswith("aws:"):
            return answered(cloud, args)
        created = amazon.create(args.typ, args.inputs, args.name)
        return created.id, created.state

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder.Cloud, "new_resource", new_resource)
        yield
