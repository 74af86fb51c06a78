"""What the program tells people, where a pool's spec is at an edge."""

from __future__ import annotations

import pytest

from components.outputs import gpu_job
from components.settings.fields import label_value
from tests.components import specs


@pytest.mark.parametrize("length", [5, 53, 54, 63])
def test_a_jobs_name_is_short_enough_to_be_a_label(length: int) -> None:
    name = "p" * (length - 2) + "-1"
    job = gpu_job(specs.gpu_pool(name))["metadata"]["name"]
    assert label_value(job) == job
    assert (job == f"gpu-check-{name}") == (length <= 53)


def test_long_pools_of_one_beginning_have_jobs_of_their_own() -> None:
    names = {gpu_job(specs.gpu_pool("p" * 60 + end))["metadata"]["name"] for end in ("-1", "-2")}
    assert len(names) == 2
