"""No program of this project installs an image, chart or plugin that ``gpucluster pins`` does not list and pin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from facts.catalog import pins
from facts.catalog.pins import OCI, PINNED_KINDS, Installed, installed
from tests.components.workloads.tools.stacks import CLOUDS, with_all
from tests.program.test_existing import recording as theirs
from tests.recorder import Recording
from tests.stacks import CONTROL_PLANES, EXISTING, OWN_MACHINES, STACK_FILES, run_program, run_with

# A host with a dot, a path, and a tag or digest: in any text, of a manifest, a script or a configuration file.
REFERENCE = re.compile(
    r"(?<![\w./:@-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?:/[a-z0-9._-]+)+(?::[\w][\w.-]*|@sha256:\w+)(?![\w/])"
)
FILES = (*STACK_FILES, OWN_MACHINES, CONTROL_PLANES, EXISTING)
DIGEST = f"sha256:{'0' * 64}"


def listed(recording: Recording) -> list[Installed]:
    return installed((each.type, each.inputs) for each in recording.resources)


def texts(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for key, value in part.items():
            yield from texts(key)
            yield from texts(value)
    elif isinstance(part, list):
        for each in part:
            yield from texts(each)
    elif isinstance(part, str):
        yield part


def references(recording: Recording) -> set[str]:
    return {name for each in recording.resources for text in texts(each.inputs) for name in REFERENCE.findall(text)}


def test_what_a_reference_is() -> None:
    text = "a ghcr.io/a/b:1.2 x nvcr.io/n/c@sha256:00, https://a.example/b:8080/c 10.0.0.0/8:x host.example:5000/a"
    assert REFERENCE.findall(text) == ["ghcr.io/a/b:1.2", "nvcr.io/n/c@sha256:00"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_image_in_any_text_of_an_example_is_listed(file: Any) -> None:
    recording = theirs() if file == EXISTING else run_program(file)
    assert references(recording) <= {row.name for row in listed(recording) if row.kind == "image"}
    releases = recording.of_type("kubernetes:helm.sh/v3:Release")
    assert len([row for row in listed(recording) if row.kind == "chart"]) == len(releases)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_image_of_the_tools_is_listed(cloud: str) -> None:
    recording = with_all(cloud)
    names = {row.name for row in listed(recording)}
    assert references(recording) <= names
    assert "quay.io/jupyter/pytorch-notebook:cuda12-hub-5.5.0" in names
    assert len([row for row in listed(recording) if row.kind == "chart"]) == 6


@pytest.mark.parametrize("name", ["eks-karpenter", "aks-research", "gke-research", "kubeadm"])
def test_what_has_a_digest_is_installed_by_it_and_by_nothing_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = (each for each in FILES if each.stem == name)
    config = yaml.safe_load(file.read_text())["config"]
    before = run_with(config, name)
    rows = [row for row in listed(before) if row.kind in PINNED_KINDS and not row.note]
    known = {(row.kind, row.name): DIGEST for row in rows}
    monkeypatch.setattr(pins, "digests", lambda: known)
    after = run_with(config, name)
    # Helm has no digest of a chart in a repository of files, the program none of a plugin.
    held = [row for row in listed(after) if row.kind == "image" or row.name.startswith(OCI)]
    assert {row.name for row in held if not row.digest and not row.note} == set()
    assert any(row.digest for row in held)
    old, new = ({each.urn: each for each in recording.resources} for recording in (before, after))
    assert old.keys() == new.keys()
    changed = {each.type.split("/")[0].split(":")[1] for urn, each in new.items() if each.inputs != old[urn].inputs}
    assert changed <= {"apps", "batch", "core", "helm.sh"}
