"""Kinds whose controllers make other objects: Crossplane's compositions, rights by Capsule and OLM, and what Sveltos
installs in clusters.

https://projectcapsule.dev/docs/tenants/permissions/#additional-rolebindings,
https://olm.operatorframework.io/docs/concepts/crds/clusterserviceversion/#operator-permissions,
https://projectsveltos.github.io/sveltos/main/addons/addons/,
https://docs.crossplane.io/latest/guides/function-patch-and-transform/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, at, coalesce, items, text
from policies.dialects.gitops import release
from policies.readers.kubernetes.objects import apart
from policies.readers.resource import Declared, Program, Referrer
from policies.readers.spelling import Spelling, parsed

_RBAC: Final = "rbac.authorization.k8s.io/v1"


def read_tenant(declared: Declared) -> Iterable[Declared]:
    """Capsule's ``Tenant``, which binds roles in each of its namespaces."""
    bindings = items(at(declared.properties, "spec", "additionalRoleBindings"))
    bound = [
        binding("RoleBinding", str(number), at(each, "clusterRoleName"), items(at(each, "subjects")))
        for number, each in enumerate(bindings)
    ]
    return apart(declared, bound, declared.properties)


def read_service_version(declared: Declared) -> Iterable[Declared]:
    """OLM's ``ClusterServiceVersion``, which gives rights to the accounts of an operator."""
    return apart(declared, [*_permissions(declared)], declared.properties)


def _permissions(declared: Declared) -> Iterator[dict[str, Any]]:
    install = at(declared.properties, "spec", "install", "spec")
    for scope, section in (("Cluster", "clusterPermissions"), ("", "permissions")):
        for number, each in enumerate(items(at(install, section))):
            name = f"{declared.object_name}-{section}-{number}"
            account = {
                "kind": "ServiceAccount",
                "name": at(each, "serviceAccountName"),
                "namespace": declared.namespace,
            }
            metadata = {"name": name, "namespace": declared.namespace}
            rules = at(each, "rules")
            yield {"apiVersion": _RBAC, "kind": f"{scope}Role", "metadata": metadata, "rules": rules}
            yield binding(f"{scope}RoleBinding", name, name, [account], f"{scope}Role", declared.namespace)


def binding(
    kind: str, name: str, role: Any, subjects: list[Any], role_kind: str = "ClusterRole", namespace: str | None = None
) -> dict[str, Any]:
    """A binding of Kubernetes, as a manifest."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role}
    metadata = {"name": name, **({} if namespace is None else {"namespace": namespace})}
    return {"apiVersion": _RBAC, "kind": kind, "metadata": metadata, "roleRef": reference, "subjects": subjects}


def read_profile(declared: Declared) -> Iterable[Declared]:
    """Sveltos' ``ClusterProfile`` and ``Profile``: charts, and objects in ConfigMaps and Secrets."""
    keys = ("data", "binaryData", "stringData")
    held = [reference.properties.get(key) for reference in declared.references for key in keys]
    yield from apart(declared, held, declared.properties)
    if declared.references:
        return  # its charts are read without them
    for chart in items(at(declared.properties, "spec", "helmCharts")):
        names = (at(chart, "releaseName"), at(chart, "releaseNamespace"))
        chart_name = text(at(chart, "chartName"))
        own = chart_name.rpartition("/")[2] if isinstance(chart_name, str) else chart_name
        yield release(declared, own, names, parsed(at(chart, "values")), items(at(chart, "valuesFrom")))


def read_composition(declared: Declared) -> Iterable[Declared]:
    """Crossplane's ``Composition``: fields of its objects that a patch sets are unknown."""
    spec = declared.properties.get("spec")
    patch_sets = {
        str(at(each, "name")): items(at(each, "patches"))
        for holder in (spec, *(at(step, "input") for step in items(at(spec, "pipeline"))))
        for each in items(at(holder, "patchSets"))
    }
    return apart(declared, {"spec": _patched(spec, patch_sets)}, declared.properties)


def _patched(value: Any, patch_sets: Mapping[str, list[Any]]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_patched(part, patch_sets) for part in value]
    if not isinstance(value, Mapping):
        return value
    if not isinstance(value.get("base"), Mapping):
        return {key: _patched(part, patch_sets) for key, part in value.items()}
    base: Any = value["base"]
    for patch in items(value.get("patches")):
        named = patch_sets.get(str(at(patch, "patchSetName")), [])
        for each in named if at(patch, "type") == "PatchSet" else (patch,):
            target = coalesce(at(each, "toFieldPath"), at(each, "fromFieldPath"))
            if "ToComposite" not in str(at(each, "type")) and target is not None:
                place = "spec" if target is UNKNOWN else str(target)
                base = _unknown_at(base, [name or index for name, index in _STEP.findall(place)])
    return {**value, "base": base}


_STEP: Final = re.compile(r"([^.\[\]]+)|\[([^\]]+)\]")
"""``spec.scalingConfig[0].minSize``, ``metadata.labels[example.com/pool]``"""


def _unknown_at(value: Any, steps: list[str]) -> Any:
    if not steps or value is UNKNOWN:
        return UNKNOWN
    step, *rest = steps
    if step == "*" or step.isdecimal():
        listed = [*value] if isinstance(value, (list, tuple)) else []
        listed += [{}] if step.isdecimal() and int(step) >= len(listed) else []
        chosen = (
            len(listed) - 1 if step.isdecimal() and int(step) >= len(listed) else int(step) if step != "*" else None
        )
        return [_unknown_at(part, rest) if chosen in (None, number) else part for number, part in enumerate(listed)]
    own = dict(value) if isinstance(value, Mapping) else {}
    return {**own, step: _unknown_at(own.get(step), rest)}


_PROFILE: Final = "kubernetes:config.projectsveltos.io/*:*Profile"
SPELLINGS: Final[Mapping[str, Spelling]] = {
    "kubernetes:apiextensions.crossplane.io/*:Composition": read_composition,
    "kubernetes:capsule.clastix.io/*:Tenant": read_tenant,
    "kubernetes:operators.coreos.com/*:ClusterServiceVersion": read_service_version,
    _PROFILE: read_profile,
}


def _policies(declared: Declared, everything: Program) -> Iterable[Declared]:
    for reference in items(at(declared.properties, "spec", "policyRefs")):
        if isinstance(reference, Mapping):
            yield from everything.meant({**reference, "apiVersion": "v1"}, declared)


REFERRERS: Final[Mapping[str, Referrer]] = {
    _PROFILE: Referrer(refers=lambda _: True, finds=_policies, holds_theirs=True),
}
