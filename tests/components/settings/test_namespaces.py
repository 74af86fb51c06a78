"""A namespace that a stack file names, in whatever section, is held to one rule."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from components.settings.access import Access
from components.settings.fields import Section
from components.settings.services import InferenceService
from components.settings.teams import Team
from components.settings.workloads import Identity, SharedVolume

SECTIONS: dict[type[Section], dict[str, Any]] = {
    Access: {"name": "a", "who": "somebody", "role": "developer", "namespaces": ["{}"]},
    Team: {"name": "{}", "gpus": 1},
    SharedVolume: {"namespace": "{}"},
    InferenceService: {"name": "a", "image": "a", "namespace": "{}"},
    Identity: {"serviceAccount": "{}/trainer", "read": ["a"]},
}

OWN = ("research", "1-research", "kube", "gkeep", "a" * 63)
REFUSED = (
    "kube-system",
    "kube-anything",
    "gke-managed-system",
    "gmp-system",
    "aks-command",
    "monitoring",
    "kueue-system",
    "Research",
    "a_b",
    "a" * 64,
)


def naming(section: type[Section], namespace: str) -> Section:
    written = {
        key: [each.format(namespace) for each in value] if isinstance(value, list) else value
        for key, value in SECTIONS[section].items()
    }
    texts = {key: value.format(namespace) for key, value in written.items() if isinstance(value, str)}
    return section.model_validate({**written, **texts})


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("namespace", OWN)
def test_a_namespace_of_your_own_is_taken(section: type[Section], namespace: str) -> None:
    assert namespace in str(naming(section, namespace))


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("namespace", REFUSED)
def test_one_of_the_cluster_or_of_nobody_is_refused_with_what_to_write(section: type[Section], namespace: str) -> None:
    with pytest.raises(ValidationError) as refused:
        naming(section, namespace)
    [problem] = refused.value.errors()
    assert "Write " in problem.get("ctx", {})["remedy"]
