"""No update takes away a key that has encrypted something, or a right to it: each edit of ``test_keys.yaml``.

The released version deployed the stack, so that one update is both: the upgrade and the edit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from packages.rehearsal.tests.tables import beside
from packages.rehearsal.tests.upgrade.deployment import Change, Deployment
from packages.rehearsal.tests.upgrade.released import program, released
from rehearsal.engine.stack import ROOT
from rehearsal.providers.fixtures import create_fixtures

pytestmark = pytest.mark.slow

TABLE: Final[dict[str, Any]] = beside(__file__)
KEY_OF: Final[Mapping[str, str]] = {
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": "cryptoKeyId",
    "aws:kms/grant:Grant": "keyId",
    "azure-native:authorization:RoleAssignment": "scope",
}
"""Type of a right → its input with the key."""
KEYS: Final = ("aws:kms/key:Key", "aws:kms/alias:Alias")
POLICY: Final = "aws:iam/rolePolicy:RolePolicy"
EDITS: Final = [
    pytest.param(stack, key, edit, id=f"{stack}-{key}-{edit}")
    for stack, keys in TABLE["edits"].items()
    for key, edits in keys.items()
    for edit in edits
]


class Running:
    """A stack as the released version deployed it, with ``key`` a or none; both keys are there."""

    def __init__(self, stack: str, key: str, letter: str | None, folder: Path) -> None:
        self._key, self._keys = key, TABLE["keys"].get(f"{stack} {key}", TABLE["keys"][stack])
        config = {**TABLE["stacks"][stack], **TABLE["with"].get(f"{stack} {key}", {})}
        self._security = config.get("gpucluster:security", {})
        file = folder / f"{stack}.yaml"
        file.write_text(yaml.safe_dump({"config": config}))
        self.deployment = Deployment(file, folder, {})
        for each, name in self._keys.items():
            file = folder / f"{each}.yaml"
            file.write_text(yaml.safe_dump({"config": {**config, "gpucluster:security": {key: name}}}))
            create_fixtures(file, self.deployment.cloud)
        created = self.deployment.update(program(released()), **self.security(letter))
        assert {each.op for each in created} == {"create"}, created

    def security(self, letter: str | None) -> dict[str, Any]:
        """The section of the stack file with that key."""
        return {"gpucluster:security": {**self._security, **({self._key: self._keys[letter]} if letter else {})}}

    def edit(self, letter: str | None) -> list[Change]:
        """What the update to today's version does, with that key."""
        return self.deployment.update(program(ROOT), **self.security(letter))

    def rights(self) -> dict[str, str]:
        """The letter of each right's key, by the right's name; ``-B`` stands for the digits of the second key."""
        letters = {name.partition("/versions/")[0]: letter for letter, name in self._keys.items()}
        named = {
            one.name: str(each.inputs[KEY_OF[one.type]])
            for each in self.deployment.resources.values()
            for one in [each.registration]
            if one.type in KEY_OF
        }
        return {re.sub(r"-[0-9a-f]{8}$", "-B", name): letters[key] for name, key in named.items() if key in letters}

    def policies(self) -> dict[str, set[str]]:
        """The letters of the keys in each policy of a role."""
        documents = {
            each.registration.name: str(each.inputs["policy"])
            for each in self.deployment.resources.values()
            if each.registration.type == POLICY
        }
        return {
            name: {letter for letter, key in self._keys.items() if key in document}
            for name, document in documents.items()
        }


def lost(changes: list[Change]) -> list[Change]:
    """The keys and rights that an update deletes or replaces."""
    return [each for each in changes if each.op in ("delete", "replace") and each.type in (*KEY_OF, *KEYS)]


def refusals(changes: list[Change]) -> list[str]:
    return [each.why for each in changes if each.op == "refuse"]


@pytest.mark.parametrize(("stack", "key", "edit"), EDITS)
def test_an_edit_of_a_key_takes_no_right_away(stack: str, key: str, edit: str, tmp_path: Path) -> None:
    before, after = (TABLE["letters"][edit].get(when) for when in ("before", "after"))
    running = Running(stack, key, before, tmp_path)
    rights, policies, expected = running.rights(), running.policies(), TABLE["edits"][stack][key][edit]
    changes = running.edit(after)
    assert lost(changes) == []
    assert {name: letters - running.policies().get(name, set()) for name, letters in policies.items()} == {
        name: set[str]() for name in policies
    }
    if "refused" in expected:
        # Whatever does not wait for the refused resource may be made, or updated in place.
        assert {each.op for each in changes} - {"create", "update"} == {"refuse"}
        (why,) = refusals(changes)
        assert f"security.{key}: " in why
        assert expected["refused"] in why
        assert running.rights() == rights
        assert refusals(running.edit(before)) == [], "the old stack file is accepted"
    else:
        assert refusals(changes) == []
        assert running.rights() == expected
        assert running.edit(after) == [], "a second update changes nothing"
    assert running.deployment.missing() == []
    assert running.deployment.problems() == []
    assert refusals(running.deployment.destroy()) == []


@pytest.mark.parametrize(
    ("stack", "key", "taken", "problem"),
    [
        ("gke", "kmsKey", "cluster-secrets-key", "has data under"),
        ("gke", "diskKey", "cluster-disk-key", "has data under"),
        ("gke", "dataKey", "checkpoints-key", "has data under"),
        ("eks", "diskKey", "cluster-disk-key", "Auto Scaling has no grant"),
        ("eks", "diskKey", "admin-pool-aws-ebs-csi-driver-role-policy", "cannot be attached"),
        ("aks", "kmsKey", "cluster-secrets-key", "has data under"),
        ("eks", "", "cluster-secrets-key", "PendingDeletion"),
    ],
)
def test_the_simulated_account_notices_a_right_or_a_key_that_is_taken_away(
    stack: str, key: str, taken: str, problem: str, tmp_path: Path
) -> None:
    deployment = Running(stack, key or "kmsKey", "a" if key else None, tmp_path).deployment
    assert deployment.problems() == []
    (resource,) = [each for each in deployment.resources.values() if each.registration.name == taken]
    deployment.cloud.delete(resource.call, resource.id, resource.inputs, resource.outputs, 0)
    assert [each for each in deployment.problems() if problem in each]
