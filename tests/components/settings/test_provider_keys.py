"""Providers' own keys in a stack file that somebody else wrote: none sends the login of who runs Pulumi elsewhere."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path

import pytest

from components.settings import SettingsError, from_stack_file
from facts import catalog
from facts.catalog import tables
from facts.catalog.provider_keys import risk
from tests.stacks import ROOT

SDKS = {
    "gcp": ("pulumi_gcp", "config/vars.py", r"__config__\.get\w*\('(\w+)'\)"),
    "aws": ("pulumi_aws", "config/vars.py", r"__config__\.get\w*\('(\w+)'\)"),
    "azure-native": ("pulumi_azure_native", "config/vars.py", r"__config__\.get\w*\('(\w+)'\)"),
    # Its SDK has no module of its configuration, which has the provider's inputs.
    "kubernetes": ("pulumi_kubernetes", "provider.py", r'@pulumi\.getter(?:\(name="(\w+)"\)|\n    def (\w+))'),
}
"""Provider → its SDK, the file with the keys of its configuration, and how these are written there."""
OF_ENGINE = {"pulumi"}


def keys(provider: str) -> set[str]:
    package, file, written = SDKS[provider]
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    text = (Path(spec.origin).parent / file).read_text()
    return {match[1] or match[2] for match in re.finditer(written, text)}


@pytest.mark.parametrize("provider", SDKS)
def test_every_key_of_a_provider_is_judged(provider: str) -> None:
    """A new version of a provider may have new keys: judge them in ``facts/catalog/data/provider_keys.csv``."""
    rows = [row["key"] for row in tables.rows("", "provider_keys") if row["provider"] == provider]
    names = keys(provider)
    assert len(names) >= 18
    assert {name for name in names if not any(fnmatchcase(name, row) for row in rows)} == set()
    assert {row for row in rows if not any(fnmatchcase(name, row) for name in names)} == set()


def test_every_cloud_of_a_stack_file_has_its_provider_judged() -> None:
    accounts = [catalog.of(cloud).account.key for cloud in catalog.clouds()]
    assert {key.partition(":")[0] for key in accounts} | {"kubernetes"} == set(SDKS)
    assert {row["provider"] for row in tables.rows("", "provider_keys")} == set(SDKS) | OF_ENGINE
    assert [risk(key) for key in accounts] == [""] * len(accounts)


STACKS = {"gke": "Pulumi.dev.yaml", "eks": "examples/eks-t4.yaml", "aks": "examples/aks-research.yaml"}


def with_line(cloud: str, line: str, folder: Path) -> Path:
    file = folder / "Pulumi.one.yaml"
    text = (ROOT / STACKS[cloud]).read_text()
    file.write_text(text.replace("config:\n", f"config:\n  {line}\n", 1))
    return file


@pytest.mark.parametrize(
    ("cloud", "line"),
    [
        ("gke", "gcp:containerCustomEndpoint: https://elsewhere.example/v1/"),
        ("gke", "gcp:config:containerCustomEndpoint: https://elsewhere.example/v1/"),
        ("gke", "gcp:universeDomain: elsewhere.example"),
        ("gke", "gcp:accessToken: ya29.x"),
        ("gke", "gcp:credentials: {secure: v1:x}"),
        ("gke", "gcp:pluginDownloadURL: https://elsewhere.example"),
        ("eks", "aws:endpoints: [{eks: https://elsewhere.example}]"),
        ("eks", "aws:insecure: true"),
        ("eks", "aws:sharedConfigFiles: [config]"),
        ("aks", "azure-native:metadataHost: elsewhere.example"),
        ("aks", "azure-native:oidcRequestUrl: https://elsewhere.example"),
        ("aks", "kubernetes:kubeconfig: x"),
        ("aks", "gcp:containerCustomEndpoint: https://elsewhere.example/v1/"),
    ],
)
def test_a_key_that_may_send_the_login_elsewhere_is_refused(cloud: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as error:
        from_stack_file(with_line(cloud, line, tmp_path))
    (problem,) = error.value.problems
    assert line.startswith(f"{problem.path}: ")
    assert "Delete it" in problem.remedy


@pytest.mark.parametrize(
    ("cloud", "line"),
    [
        ("gke", "gcp:zone: us-central1-a"),
        ("gke", "gcp:defaultLabels: {team: ml}"),
        ("gke", "gcp:impersonateServiceAccount: deployer@my-project.iam.gserviceaccount.com"),
        ("eks", "aws:profile: research"),
        ("eks", "aws:defaultTags: {tags: {team: ml}}"),
        ("eks", "aws:assumeRoles: [{roleArn: 'arn:aws:iam::123456789012:role/deployer'}]"),
        ("aks", "azure-native:location: westeurope"),
        ("aks", "azure-native:tenantId: 00000000-0000-0000-0000-000000000001"),
        ("aks", "pulumi:disable-default-providers: [kubernetes]"),
        ("aks", "random:key: of a provider that somebody added"),
    ],
)
def test_keys_of_everyday_are_taken(cloud: str, line: str, tmp_path: Path) -> None:
    assert from_stack_file(with_line(cloud, line, tmp_path)).cloud == cloud


@pytest.mark.parametrize(
    ("cloud", "line", "remedy"),
    [
        ("eks", "aws:tags: {team: ml}", "Write 'aws:defaultTags: {tags: …}', or delete it: "),
        ("eks", "aws:assumeRole: x", "Write 'aws:assumeRoles', or delete it: "),
        ("eks", "aws:colour: red", "Delete it: "),
        (
            "gke",
            "gcp:quotaProject: p",
            "Write 'gcp:billingProject' and 'gcp:userProjectOverride: true', or delete it: ",
        ),
        ("gke", "gcp:labels: {team: ml}", "Write 'gcp:defaultLabels', or delete it: "),
        ("gke", "gcp:zones: [a]", "Write 'gcp:zone', or delete it: "),
        ("aks", "azure-native:region: westeurope", "Write 'azure-native:location', or delete it: "),
        ("aks", "azure-native:tags: {team: ml}", "Delete it: "),
        ("aks", "azure-native:subscription: x", "Write 'azure-native:subscriptionId', or delete it: "),
    ],
)
def test_a_key_that_is_none_is_answered_with_what_was_meant(cloud: str, line: str, remedy: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as error:
        from_stack_file(with_line(cloud, line, tmp_path))
    (problem,) = error.value.problems
    assert problem.remedy.startswith(remedy), problem.remedy
