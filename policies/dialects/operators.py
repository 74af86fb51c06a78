"""Kinds whose controllers make other objects: Crossplane's compositions, rights by Capsule and OLM, and what Sveltos
installs in clusters.

https://projectcapsule.dev/docs/tenants/permissions/#additional-rolebindings,
https://olm.operatorframework.io/docs/concepts/crds/clusterserviceversion/#operator-permissions,
https://projectsveltos.github.io/sveltos/main/addons/addons/,
https://github.com/FairwindsOps/rbac-manager/blob/master/examples/rbacdefinition-everything.yaml,
https://github.com/open-cluster-management-io/cluster-permission/tree/main/config/samples,
https://docs.crossplane.io/latest/guides/function-patch-and-transform/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, at, coalesce, items, text
from policies.dialects.gitops import release
from policies.readers.kubernetes.objects import apart, whole_objects
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
    # https://projectcapsule.dev/docs/tenants/permissions/#ownership
    owners = [
        binding("RoleBinding", f"owner-{number}", role, [{"kind": at(each, "kind"), "name": at(each, "name")}])
        for number, each in enumerate(items(at(declared.properties, "spec", "owners")))
        for role in items(at(each, "clusterRoles")) or ["admin"]
    ]
    return apart(declared, [*bound, *owners], declared.properties)


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


def read_definition(declared: Declared) -> Iterable[Declared]:
    """``RBACDefinition`` of RBAC Manager, which binds roles in the cluster and in namespaces."""
    bound: list[Any] = []
    for number, each in enumerate(items(declared.properties.get("rbacBindings"))):
        subjects = items(at(each, "subjects"))
        for kind, section in (("ClusterRoleBinding", "clusterRoleBindings"), ("RoleBinding", "roleBindings")):
            for place, one in enumerate(items(at(each, section))):
                role = at(one, "clusterRole")
                kinds = ("Role", at(one, "role")) if role is None else ("ClusterRole", role)
                name, space = f"{declared.object_name}-{number}-{section}-{place}", at(one, "namespace")
                bound.append(binding(kind, name, kinds[1], subjects, kinds[0], space))
    return apart(declared, bound, declared.properties)


def read_permission(declared: Declared) -> Iterable[Declared]:
    """``ClusterPermission`` of Open Cluster Management: roles, and bindings of these or others in a cluster."""
    spec, own = declared.properties.get("spec"), declared.object_name
    rules = at(spec, "clusterRole", "rules")
    whole = {"apiVersion": _RBAC, "kind": "ClusterRole", "metadata": {"name": own}, "rules": rules}
    held: list[Any] = [] if rules is None else [whole]
    for each in items(at(spec, "roles")):
        metadata = {"name": own, "namespace": at(each, "namespace")}
        held.append({"apiVersion": _RBAC, "kind": "Role", "metadata": metadata, "rules": at(each, "rules")})
    wide = [at(spec, "clusterRoleBinding"), *items(at(spec, "clusterRoleBindings"))]
    sections = (("ClusterRoleBinding", wide), ("RoleBinding", items(at(spec, "roleBindings"))))
    for kind, listed in sections:
        for number, each in enumerate(one for one in listed if one is not None):
            subject = at(each, "subject")
            subjects = [*items(at(each, "subjects")), *([] if subject is None else [subject])]
            role, role_kind = (at(each, "roleRef", key) for key in ("name", "kind"))
            role_kind = coalesce(role_kind, kind.removesuffix("Binding"))
            name = f"{own}-{kind}-{number}"
            held.append(binding(kind, name, own if role is None else role, subjects, role_kind, at(each, "namespace")))
    return apart(declared, held, declared.properties)


def read_role_request(declared: Declared) -> Iterable[Declared]:
    """Sveltos' ``RoleRequest``: the roles in ConfigMaps and Secrets, for an account.

    https://projectsveltos.github.io/sveltos/main/features/role_based_access_control/
    """
    spec = declared.properties.get("spec")
    account = {
        "kind": "ServiceAccount",
        "name": at(spec, "serviceAccountName"),
        "namespace": at(spec, "serviceAccountNamespace"),
    }
    data = [reference.properties.get(key) for reference in declared.references for key in _DATA]
    roles = whole_objects(data)[1]
    bound = [
        binding(
            f"{each['kind']}Binding",
            f"{declared.object_name}-{number}",
            at(each, "metadata", "name"),
            [account],
            each["kind"],
            at(each, "metadata", "namespace"),
        )
        for number, each in enumerate(roles)
        if each.get("kind") in ("ClusterRole", "Role")
    ]
    return apart(declared, [*roles, *bound], declared.properties)


_DATA: Final = ("data", "binaryData", "stringData")


def binding(
    kind: str, name: str, role: Any, subjects: list[Any], role_kind: str = "ClusterRole", namespace: str | None = None
) -> dict[str, Any]:
    """A binding of Kubernetes, as a manifest."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role}
    metadata = {"name": name, **({} if namespace is None else {"namespace": namespace})}
    return {"apiVersion": _RBAC, "kind": kind, "metadata": metadata, "roleRef": reference, "subjects": subjects}


def read_profile(declared: Declared) -> Iterable[Declared]:
    """Sveltos' ``ClusterProfile`` and ``Profile``: charts, and objects in ConfigMaps and Secrets."""
    held = [reference.properties.get(key) for reference in declared.references for key in _DATA]
    yield from apart(declared, held, declared.properties)
    if declared.references:
        return  # its charts are read without them
    for chart in items(at(declared.properties, "spec", "helmCharts")):
        names = (at(chart, "releaseName"), at(chart, "releaseNamespace"))
        chart_name = text(at(chart, "chartName"))
        own = chart_name.rpartition("/")[2] if isinstance(chart_name, str) else chart_name
        values, files = parsed(at(chart, "values")), items(at(chart, "valuesFrom"))
        yield release(declared, own, names, values, files, repository=at(chart, "repositoryURL"))


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
_REQUEST: Final = "kubernetes:lib.projectsveltos.io/*:RoleRequest"
SPELLINGS: Final[Mapping[str, Spelling]] = {
    "kubernetes:apiextensions.crossplane.io/*:Composition": read_composition,
    "kubernetes:capsule.clastix.io/*:Tenant": read_tenant,
    "kubernetes:rbac.open-cluster-management.io/*:ClusterPermission": read_permission,
    "kubernetes:rbacmanager.reactiveops.io/*:RBACDefinition": read_definition,
    _REQUEST: read_role_request,
    "kubernetes:operators.coreos.com/*:ClusterServiceVersion": read_service_version,
    _PROFILE: read_profile,
}


def _policies(declared: Declared, everything: Program) -> Iterable[Declared]:
    for reference in (
        each for key in ("policyRefs", "roleRefs") for each in items(at(declared.properties, "spec", key))
    ):
        if isinstance(reference, Mapping):
            yield from everything.meant({**reference, "apiVersion": "v1"}, declared)


REFERRERS: Final[Mapping[str, Referrer]] = {
    **dict.fromkeys((_PROFILE, _REQUEST), Referrer(refers=lambda _: True, finds=_policies, holds_theirs=True)),
}
