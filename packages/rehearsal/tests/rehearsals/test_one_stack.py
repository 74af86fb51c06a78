"""One stack file on three clouds: only cloud, place and account are written differently."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.rehearsals import passes
from tests import one_stack

pytestmark = [pytest.mark.rehearsal, pytest.mark.exhaustive]


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_the_same_stack_passes(cloud: str) -> None:
    passes(str(one_stack.file(cloud)))
