"""What is up while nobody uses it: nodes that are always up, and the GPUs that pods hold for ever beside those."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facts.concepts.declared import PodScaler, Workload
from facts.concepts.unknown import UNKNOWN
from policies.rules.money import idle_cost
from policies.rules.samples import GPUS, JOB, program

SERVICE = replace(JOB, kind="Deployment", name="serve", always=2)
"""Two GPUs of $1.5 an hour each."""


def test_the_ceiling_is_met_at_the_price_of_the_gpus_that_are_held() -> None:
    assert idle_cost(program(GPUS, SERVICE), 3) == []
    (violation,) = idle_cost(program(GPUS, SERVICE), 2.99)
    assert "costs $3.00 an hour, over the limit of $2.99; highest: Deployment research/serve $3.00" in violation.message


@pytest.mark.parametrize(
    "workload",
    [
        JOB,
        replace(SERVICE, gpus=0),
        replace(SERVICE, always=0),
        replace(SERVICE, kind="DaemonSet"),
        replace(SERVICE, tolerations=()),
        replace(SERVICE, always=UNKNOWN),
    ],
    ids=["job", "no-gpus", "scaled-to-zero", "daemon-set", "no-group-takes-it", "not-known-yet"],
)
def test_what_holds_no_gpus_for_certain_costs_nothing(workload: Workload) -> None:
    assert idle_cost(program(GPUS, workload), 0) == []


def test_a_scaler_says_how_many_pods_stay() -> None:
    stack = program(GPUS, SERVICE)
    asleep = replace(stack, pod_scalers=(PodScaler("Deployment", "research", "serve", 0),))
    assert idle_cost(asleep, 0) == []


def test_gpus_of_nodes_that_are_always_up_are_not_counted_twice() -> None:
    warm = replace(GPUS, min_nodes=1)
    assert idle_cost(program(warm, SERVICE), 3) == []
    (violation,) = idle_cost(program(warm, replace(SERVICE, always=3)), 3)
    assert "costs $4.50 an hour" in violation.message


def test_dearer_groups_do_not_count_where_a_cheaper_one_takes_the_pods() -> None:
    dear = replace(GPUS, name="h100", hourly_usd=10.0)
    assert idle_cost(program(GPUS, dear, SERVICE), 3) == []


def test_without_a_price_the_pods_are_left_to_the_rule_that_names_them() -> None:
    assert idle_cost(program(replace(GPUS, hourly_usd=None), SERVICE), 0) == []
