"""What the simulated Kubernetes provider decides without a cluster: whose fields are, too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.driver import with_one_unknown
from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.providers.base import Diff, Properties, ProviderError
from rehearsal.providers.differences import parse_path
from rehearsal.providers.kubernetes import SimulatedKubernetes
from rehearsal.providers.kubernetes.manifest import (
    Kind,
    decode_yaml,
    kind_of,
    manager_of,
    normal,
    prune,
    replacing,
    taken_over,
    to_api,
    with_name,
)
from rehearsal.providers.kubernetes.settings import kubeconfig_of

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "one",
    "contexts": [
        {"name": "one", "context": {"cluster": "a", "user": "u"}},
        {"name": "two", "context": {"cluster": "b", "user": "u", "namespace": "team"}},
    ],
    "clusters": [
        {"name": "a", "cluster": {"server": "https://a:443"}},
        {"name": "b", "cluster": {"server": "https://b:443"}},
    ],
    "users": [{"name": "u", "user": {"token": "t"}}],
}


@cases
def test_types_name_kinds(type: str, inputs: Properties, kind: list[Any]) -> None:
    assert kind_of(type, inputs) == Kind(*kind)


@cases
def test_types_that_are_refused(type: str, inputs: Properties, reason: str) -> None:
    with pytest.raises(ProviderError, match=reason):
        kind_of(type, inputs)


def test_names_are_declared_adopted_or_generated() -> None:
    made = with_name({"metadata": {"labels": {"a": "b"}}}, {}, "web", b"seed")
    assert made["metadata"]["name"] == with_name({}, {}, "web", b"seed")["metadata"]["name"], "the seed decides"
    assert made["metadata"]["name"] != with_name({}, {}, "web", b"other")["metadata"]["name"]
    assert made["metadata"]["labels"] == {"a": "b"}
    assert with_name({}, made, "web", b"other")["metadata"]["name"] == made["metadata"]["name"]
    assert with_name({"metadata": {"name": UNKNOWN}}, {}, "web", b"") == {"metadata": {"name": UNKNOWN}}
    with pytest.raises(ProviderError, match="generateName does not work with server-side apply"):
        with_name({"metadata": {"generateName": "x-"}}, {}, "web", b"")


def test_normal_form_drops_what_the_server_owns() -> None:
    metadata = {"name": "x", "uid": "1", "resourceVersion": "2", "generation": 3, "labels": None}
    assert normal({"metadata": metadata, "status": {}, "__fieldManager": "m", "spec": {"a": None, "b": [None]}}) == {
        "metadata": {"name": "x"},
        "spec": {"b": [None]},
    }
    secret = {"kind": "Secret", "data": {"a": "MQ=="}, "stringData": {"b": "2", "c": UNKNOWN}}
    assert normal(secret) == {"kind": "Secret", "data": {"a": "MQ==", "b": "Mg==", "c": UNKNOWN}}


def test_whole_numbers_are_sent_as_integers() -> None:
    assert str(to_api({"port": 8080.0, "ratios": [0.5, 2.0]})) == "{'port': 8080, 'ratios': [0.5, 2]}"


def test_prune_keeps_what_the_program_speaks_of() -> None:
    live = {"spec": {"replicas": 2, "paused": False, "items": [{"a": 1, "default": 2}], "args": ["x", "y"]}}
    declared = {"spec": {"replicas": 1, "items": [{"a": 1}], "args": ["x"]}}
    assert prune(live, declared) == {"spec": {"replicas": 2, "items": [{"a": 1}], "args": ["x", "y"]}}


@cases
def test_which_changes_replace(kind: str, change: str, replaced: bool) -> None:
    api_version, _, name = kind.rpartition("/")
    path = parse_path(change)
    assert replacing(Kind(api_version, name), (path,)) == ((path,) if replaced else ())


def test_patches_replace_only_by_identity_and_mutable_data_not_at_all() -> None:
    data, name = ("data", "a"), ("metadata", "name")
    assert replacing(Kind("v1", "ConfigMap", patch=True), (data, name)) == (name,)
    assert replacing(Kind("v1", "ConfigMap"), (data,), mutable_config_maps=True) == ()
    assert replacing(Kind("v1", "ConfigMap"), (data,), mutable_config_maps=True, immutable=True) == (data,)
    assert replacing(Kind("v1", "Secret"), (data,), mutable_secrets=True) == ()


def test_kubeconfig_from_contents_and_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(KUBECONFIG))
    current = Kubeconfig({"server": "https://a:443"}, {"token": "t"})
    assert kubeconfig_of({"kubeconfig": str(file)}) == kubeconfig_of({"kubeconfig": KUBECONFIG}) == current
    chosen = kubeconfig_of({"kubeconfig": file.read_text(), "context": "two", "cluster": "a"})
    assert chosen == replace(current, namespace="team")


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({}, "has no kubeconfig, and a rehearsal never uses ~/.kube/config"),
        ({"kubeconfig": "/not/there"}, "write its contents or the path of a readable file"),
        ({"kubeconfig": "a: [\n"}, "neither YAML nor JSON"),
        ({"kubeconfig": yaml.safe_dump(KUBECONFIG), "context": "tow"}, "no entry called 'tow'; there are: one, two"),
        ({"kubeconfig": yaml.safe_dump(KUBECONFIG), "cluster": "c"}, "no entry called 'c'; there are: a, b"),
    ],
)
def test_kubeconfigs_that_cannot_be_used(config: Properties, reason: str) -> None:
    with pytest.raises(ProviderError, match=reason):
        kubeconfig_of(config)


def test_provider_inputs_are_checked_as_far_as_they_are_known() -> None:
    provider = SimulatedKubernetes()
    assert provider.check_config({"kubeconfig": UNKNOWN, "context": "x"}) == []
    assert provider.check_config({"suppressDeprecationWarnings": True}) == []
    wrong = {"context": "x", "enableServerSideApply": "false", "alwaysRender": True}
    failures = provider.check_config({"kubeconfig": yaml.safe_dump(KUBECONFIG), **wrong})
    assert [failure.property for failure in failures] == ["alwaysRender", "enableServerSideApply", "kubeconfig"]


def test_any_setting_may_be_unknown_in_a_preview() -> None:
    names = {"context": "one", "cluster": "a", "clusterIdentifier": "x", "namespace": "team"}
    known = {"kubeconfig": yaml.safe_dump(KUBECONFIG), **names, "enablePatchForce": True}
    for unknown in with_one_unknown(known):
        provider = SimulatedKubernetes()
        assert provider.check_config(unknown) == []
        assert provider.diff_config(known, unknown).changes
        assert provider.diff_config(unknown, known).changes
        provider.configure(unknown)


def test_only_another_cluster_replaces_the_provider() -> None:
    provider = SimulatedKubernetes()
    old = {"kubeconfig": yaml.safe_dump(KUBECONFIG)}
    renewed = {**KUBECONFIG, "users": [{"name": "u", "user": {"token": "new"}}]}
    assert provider.diff_config(old, {"kubeconfig": yaml.safe_dump(renewed)}) == Diff(("kubeconfig",))
    assert provider.diff_config(old, {**old, "context": "two"}).replaces == ("context",)
    assert provider.diff_config(old, {"kubeconfig": UNKNOWN}).replaces == ("kubeconfig",)
    named, moved = {**old, "clusterIdentifier": "x"}, {"kubeconfig": UNKNOWN, "clusterIdentifier": "x"}
    assert provider.diff_config(named, moved).replaces == ()
    assert provider.diff_config(named, {**moved, "clusterIdentifier": "y"}).replaces == ("clusterIdentifier",)


def test_yaml_is_decoded_and_lists_unfolded() -> None:
    text = "kind: A\n---\n---\nkind: BList\nitems: [{kind: B}, {kind: B}]\n"
    assert decode_yaml(text) == [{"kind": "A"}, {"kind": "B"}, {"kind": "B"}]
    with pytest.raises(ProviderError, match="document without kind"):
        decode_yaml("just text")


OURS = "pulumi-kubernetes-1234"


def entry(manager: str, operation: str, *labels: str, **more: str) -> dict[str, Any]:
    fields = {"f:metadata": {"f:labels": {f"f:{label}": {} for label in labels}}}
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **more}


def test_fields_of_the_creation_and_of_kubectl_are_taken_over_and_no_others() -> None:
    theirs = [entry("helm", "Update", "d"), entry("kubectl-edit", "Update", "e", subresource="status")]
    creation = [entry("pulumi-kubernetes", "Update", "a", "b"), entry("kubectl-edit", "Update", "c")]
    managed = [*creation, *theirs, entry(OURS, "Apply", "b", "z")]
    taken = taken_over({"metadata": {"managedFields": managed}}, OURS)
    assert taken == [*theirs, entry(OURS, "Apply", "a", "b", "c", "z")]
    assert taken_over({"metadata": {"managedFields": taken}}, OURS) == []
    assert taken_over({"metadata": {"managedFields": creation}}, OURS) == [entry(OURS, "Apply", "a", "b", "c")]


def test_the_annotation_names_the_manager_then_the_state() -> None:
    annotated = {"metadata": {"annotations": {"pulumi.com/patchFieldManager": "me"}}}
    assert manager_of(annotated, {"__fieldManager": OURS}) == "me"
    assert manager_of({}, {"__fieldManager": OURS}) == OURS
    assert manager_of({}, {}) != manager_of({}, {})
