"""The program's admission policies in an empty cluster, where a mutant takes the place of one of them.

An API server applies a policy some time after it has been written. So after each change a policy of this module is
changed, too: once that is in force, all that was written before is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from facts.concepts.kubernetes import manifest
from proof.mutants.mutation import Registered
from proof.mutants.replay import Made, Refusal, call
from rehearsal.checks.admission import problem_of, questions_of
from rehearsal.cluster.api import Api, ApiError
from rehearsal.providers.base import Created, Properties
from rehearsal.scenario.check import Pools

KINDS: Final = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_GROUP: Final = "admissionregistration.k8s.io/v1"
_NAME: Final = "written-before.example.com"
_SECONDS: Final = 60.0


class Policies:
    """Creates the ``program``'s policies and bindings with ``provider``. Raises the provider's error."""

    def __init__(self, api: Api, provider: Any, program: Sequence[Made], pools: Pools) -> None:
        self._api, self._provider, self._changes = api, provider, 0
        self._questions = [*questions_of(pools)]
        self._inputs = {each.urn: inputs for each, inputs in program}
        self._there = {each.urn: self._create(each, inputs) for each, inputs in program}
        self.refusal = self._wrong()
        """The first wrong answer to the program's own policies; then no mutant can be judged by answers."""

    def refused(self, each: Registered, inputs: Properties) -> Refusal:
        """With other ``inputs`` of a policy or a binding."""
        self._delete(each, self._inputs[each.urn], self._there[each.urn])
        try:
            mutant = self._create(each, inputs)
        except Exception as error:  # a defect of the simulated provider ends an update, too
            refusal: Refusal = (str(error), "")
        else:
            refusal = ("", self._wrong())
            self._delete(each, inputs, mutant)
        self._there[each.urn] = self._create(each, self._inputs[each.urn])
        return refusal

    def _create(self, each: Registered, inputs: Properties) -> Created:
        created: Created = self._provider.create(call(each), inputs, 0)
        return created

    def _delete(self, each: Registered, inputs: Properties, created: Created) -> None:
        self._provider.delete(call(each), created.id, inputs, created.state, 0)

    def _wrong(self) -> str:
        self._settle()
        problems = ((one.title, problem_of(self._api, one)) for one in self._questions)
        return next((f"admission: {title}: {problem}" for title, problem in problems if problem), "")

    def _settle(self) -> None:
        """Wait until all that has been written is in force. Raises TimeoutError."""
        self._changes += 1
        mark = {"change": str(self._changes)}
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        expression = f"object.metadata.labels['change'] != '{self._changes}'"
        policy = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
        binding = {"matchResources": {"objectSelector": {"matchLabels": mark}}, "policyName": _NAME}
        binding["validationActions"] = ["Deny"]
        for kind, spec in zip(KINDS, (policy, binding), strict=True):
            self._api.apply_manifest(manifest(_GROUP, kind, _NAME, spec=spec))
        end = time.monotonic() + _SECONDS
        while not self._refuses(mark):
            if time.monotonic() > end:
                raise TimeoutError("the API server applies no policy")
            time.sleep(0.02)

    def _refuses(self, labels: Mapping[str, str]) -> bool:
        marked = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "labels": dict(labels)}}
        try:
            self._api.submit("/api/v1/namespaces/default/configmaps", marked, dryRun="All")
        except ApiError as error:
            return _NAME in str(error)
        return False
