"""Kinds whose controllers make other objects: rights by Capsule and OLM, and what Sveltos installs in clusters.

https://projectcapsule.dev/docs/tenants/permissions/#additional-rolebindings,
https://olm.operatorframework.io/docs/concepts/crds/clusterserviceversion/#operator-permissions,
https://projectsveltos.github.io/sveltos/main/addons/addons/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from facts.concepts.unknown import at, items, text
from policies.dialects.gitops import release
from policies.readers.kubernetes.objects import apart
from policies.readers.resource import Declared, Program, Referrer
from policies.readers.spelling import Spelling, parsed

_RBAC: Final = "rbac.authorization.k8s.io/v1"


def read_tenant(declared: Declared) -> Iterable[Declared]:
    """Capsule's ``Tenant``, which binds roles in each of its namespaces."""
    bindings = items(at(declared.properties, "spec", "additionalRoleBindings"))
    bound = [
        _binding("RoleBinding", str(number), at(each, "clusterRoleName"), items(at(each, "subjects")))
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
            yield _binding(f"{scope}RoleBinding", name, name, [account], f"{scope}Role", declared.namespace)


def _binding(
    kind: str, name: str, role: Any, subjects: list[Any], role_kind: str = "ClusterRole", namespace: str | None = None
) -> dict[str, Any]:
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


_PROFILE: Final = "kubernetes:config.projectsveltos.io/*:*Profile"
SPELLINGS: Final[Mapping[str, Spelling]] = {
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
