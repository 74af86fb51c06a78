"""What a digest in pins.csv changes in manifests and charts, and which lines it refuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from facts.catalog.pins import PINS, Installed, PinsError, images, installed, pinned, pinned_chart, read, with_digests
from facts.concepts.unknown import UNKNOWN

A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
HEAD = "# why\nkind,name,digest\n"
KUEUE = "oci://registry.k8s.io/kueue/charts/kueue"


def test_the_file_of_the_repository_is_valid() -> None:
    read(PINS.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"imag,a/b:1,{A}", "kind 'imag': write image, chart, plugin"),
        (f"add-on,coredns v1,{A}", "kind 'add-on'"),
        ("image,a/b:1,", "'' is no digest: write sha256: and 64 hexadecimal digits, or delete the row"),
        (f"image,a/b:1,{A[:-1]}", "is no digest"),
        (f"image,a/b:1,{A.upper()}", "is no digest"),
        (f"image,a/b:1,{A}\nimage,a/b:1,{B}", f"two rows, {A} and {B}: delete one"),
    ],
)
def test_a_line_that_says_nothing_is_refused_by_its_name(line: str, words: str) -> None:
    with pytest.raises(PinsError, match=r"pins\.csv") as refused:
        read(f"{HEAD}{line}\n")
    assert words in str(refused.value)
    assert line.split(",")[1] in str(refused.value)


def test_rows_are_read() -> None:
    assert read(f"{HEAD}image,a/b:1,{A}\nchart,a/b:1,{B}\n") == {("image", "a/b:1"): A, ("chart", "a/b:1"): B}


def pod(image: Any, **more: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image, **more}]}}}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pod("a/b:1"), pod(f"a/b:1@{A}")),
        ({"initContainers": [{"name": "c", "image": "a/b:1"}]},
         {"initContainers": [{"name": "c", "image": f"a/b:1@{A}"}]}),
        (({"name": "c", "image": "a/b:1"},), [{"name": "c", "image": f"a/b:1@{A}"}]),
        # Of others, of another tag, with a digest, and not known yet.
        (pod("a/b:2"), pod("a/b:2")),
        (pod("a/b"), pod("a/b")),
        (pod(f"a/b:1@{B}"), pod(f"a/b:1@{B}")),
        (pod(UNKNOWN), pod(UNKNOWN)),
        # A manifest in a file of a ConfigMap, and words that are none.
        ({"data": {"pod.yaml": "a:\n- image: a/b:1\n"}}, {"data": {"pod.yaml": f"a:\n- image: a/b:1@{A}\n"}}),
        ("x:\n  image: 'a/b:1'", f"x:\n  image: 'a/b:1@{A}'"),
        (f"image: a/b:1@{B}", f"image: a/b:1@{B}"),
        ("the image: a/b:1", "the image: a/b:1"),
        ("image: a/b:1 of us", "image: a/b:1 of us"),
        ({"image": {"name": "a/b", "tag": "1"}}, {"image": {"name": "a/b", "tag": f"1@{A}"}}),
        ({"image": {"repository": "a/b", "tag": "1"}}, {"image": {"repository": "a/b", "tag": f"1@{A}"}}),
        ({"image": {"registry": "a", "repository": "b", "tag": "1"}},
         {"image": {"registry": "a", "repository": "b", "tag": f"1@{A}"}}),
        ({"image": {"name": "a/b", "tag": f"1@{B}"}}, {"image": {"name": "a/b", "tag": f"1@{B}"}}),
        ({"image": {"name": "a/b"}}, {"image": {"name": "a/b"}}),
    ],
)  # fmt: skip
def test_an_image_with_a_digest_is_installed_by_it(before: Any, after: Any) -> None:
    untouched = copy.deepcopy(before)
    assert pinned(before, {("image", "a/b:1"): A}) == after
    assert before == untouched
    assert pinned(before, {}) is before


def test_a_chart_of_a_registry_is_installed_by_its_digest_and_no_other() -> None:
    known = {("chart", f"{KUEUE}:0.19.2"): A, ("chart", "https://a.example/charts/keda:1"): B}
    assert pinned_chart(KUEUE, "0.19.2", known) == f"{KUEUE}@{A}"
    assert pinned_chart(KUEUE, "0.19.3", known) == KUEUE
    assert pinned_chart("keda", "1", known) == "keda"


def test_what_resources_install_is_listed_once() -> None:
    chart = {"chart": "keda", "repositoryOpts": {"repo": "https://a.example/charts/"}, "version": "1"}
    resources: list[tuple[str, dict[str, Any]]] = [
        ("kubernetes:apps/v1:DaemonSet", pod("a/b:1")),
        ("kubernetes:apps/v1:Deployment", pod("a/b:1")),
        ("kubernetes:apps/v1:Deployment", pod("cos:fixed", imagePullPolicy="Never")),
        ("kubernetes:apps/v1:Deployment", pod(UNKNOWN)),
        ("kubernetes:helm.sh/v3:Release", {**chart, "values": {"image": {"name": "a/n", "tag": "2"}}}),
        ("kubernetes:helm.sh/v3:Release", {"chart": f"{KUEUE}@{A}", "version": "0.19.2"}),
        ("aws:eks/addon:Addon", {"addonName": "coredns", "addonVersion": "v1"}),
        ("aws:eks/addon:Addon", {"addonName": "vpc-cni"}),
        # A family of node images is none.
        ("gcp:container/nodePool:NodePool", {"nodeConfig": {"image": "cos"}}),
        ("gpucluster-machines:index:Preflight", {"a": {"b": {"url": "https://k.example", "keyFingerprint": "F"}}}),
        ("gpucluster:index:GpuNodePool", {}),
    ]  # fmt: skip
    rows = {
        (row.kind, row.name.rsplit(" ", 1)[0] if row.kind == "plugin" else row.name): row
        for row in installed(resources)
    }
    assert {kind for kind, _ in rows} == {"image", "chart", "add-on", "packages", "plugin"}
    assert {name for kind, name in rows if kind == "image"} == {"a/b:1", "cos:fixed", "", "a/n:2"}
    assert {name for kind, name in rows if kind == "chart"} == {"https://a.example/charts/keda:1", f"{KUEUE}:0.19.2"}
    assert rows["chart", f"{KUEUE}:0.19.2"].digest == A
    assert rows["image", "cos:fixed"].note == "part of the node's own image"
    assert {name for kind, name in rows if kind == "add-on"} == {"coredns v1", "vpc-cni"}
    assert rows["packages", "https://k.example"].note == "signed by F"
    assert {name.split(" ")[0] for kind, name in rows if kind == "plugin"} == {"aws", "gcp", "kubernetes"}


def test_a_known_digest_is_in_the_list() -> None:
    rows = [Installed("image", "a/b:1"), Installed("image", "a/c:1"), Installed("image", "a/b:1", B)]
    assert [row.digest for row in with_digests(rows, {("image", "a/b:1"): A})] == [A, "", B]
    assert [*images(f"- image: a/b:1@{A}\n  image: cos\n")] == [Installed("image", "a/b:1", A)]
    assert [*images({"image": f"a/b:1@{A}"})] == [Installed("image", "a/b:1", A)]
