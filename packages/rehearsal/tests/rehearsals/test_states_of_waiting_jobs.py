"""The table of states in which jobs wait says only what the runner reads."""

from __future__ import annotations

from typing import Any, Final, get_args

import pytest

from gpu.causes import Kind, MendedBy
from packages.rehearsal.tests.rehearsals import ROOT
from packages.rehearsal.tests.rehearsals.waiting_jobs import STACKS, TABLE, states_of

KEYS: Final = {
    *("id", "memory", "image", "claim", "job", "pod", "machines", "objects", "status", "times", "event", "together"),
    *("closed", "cordoned", "answer", "clouds"),
}


@pytest.mark.parametrize("cloud", STACKS)
def test_each_state_of_a_cloud_has_an_answer(cloud: str) -> None:
    states: list[Any] = states_of(cloud)
    assert (ROOT / "examples" / STACKS[cloud]).exists()
    assert len({state["id"] for state in states}) == len(states) > 10
    for state in states:
        kind, mended_by, waiting_helps = state["answer"]
        assert kind in get_args(Kind)
        assert mended_by in (*get_args(MendedBy), None)
        assert waiting_helps in (True, False, None)
        assert state.keys() <= KEYS
        assert state.get("clouds", {}).keys() <= STACKS.keys()


def test_a_state_that_is_not_played_on_a_cloud_says_why() -> None:
    """A null, as a JSON merge patch has it, would leave the state as it is."""
    clouds = [state.get("clouds", {}) for state in TABLE["states"]]
    assert all(isinstance(each, dict) or len(each.split()) > 4 for one in clouds for each in one.values())
    assert {cloud: sum(isinstance(one.get(cloud), str) for one in clouds) for cloud in STACKS} == {
        "eks": 2, "gke": 2, "aks": 4, "kubeadm": 9,
    }  # fmt: skip


def test_what_no_autoscaler_mends_is_played_where_there_is_none() -> None:
    assert {state["id"] for state in states_of("kubeadm")} >= {"cordoned", "no-real-image"}
    assert not {"cordoned", "no-real-image"} & {state["id"] for state in states_of("gke")}
