"""Reads whom EKS' ConfigMap ``aws-auth`` makes an administrator: no node may be one, nor a machine that joins.

https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html,
https://github.com/kubernetes-sigs/aws-iam-authenticator#full-configuration-format
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from facts.concepts.declared import Exposure
from facts.concepts.unknown import UNKNOWN, Maybe, at, items
from policies.readers.resource import Declared, Item
from policies.readers.spelling import parsed

_ADMINISTRATORS: Final = "system:masters"
_NODES: Final = ("system:nodes", "system:bootstrappers")
_MACHINE: Final = "EC2PrivateDNSName"


def read_mappings(declared: Declared) -> Iterable[Item]:
    """``aws-auth`` in ``kube-system``; nothing of any other ConfigMap."""
    if (declared.object_name, declared.namespace) != ("aws-auth", "kube-system"):
        return
    for key in ("mapRoles", "mapUsers"):
        mapped = parsed(at(declared.properties, "data", key))
        answers = [mapped] if mapped is UNKNOWN else _answers(items(mapped))
        if any(answer is not False for answer in answers):
            open_ = True if True in answers else UNKNOWN
            yield Exposure("rights", f"ConfigMap 'aws-auth' ({key}: nodes in {_ADMINISTRATORS})", open_, declared.urn)


def read_mapping(declared: Declared) -> Iterable[Item]:
    """``IAMIdentityMapping``, one such entry as an object."""
    spec = declared.properties.get("spec")
    answer = _is_node_and_administrator(spec, node=_is_node(spec))
    if answer is not False:
        title = f"{declared.kind} '{declared.name}' (nodes in {_ADMINISTRATORS})"
        yield Exposure("rights", title, answer, declared.urn)


def _answers(entries: list[Any]) -> list[Maybe[bool]]:
    """Of each entry; a role may have several, and what one makes of it holds for the others."""
    nodes = [str(at(each, "rolearn")).lower() for each in entries if _is_node(each)]
    return [
        _is_node_and_administrator(each, node=str(at(each, "rolearn")).lower() in nodes or _is_node(each))
        for each in entries
    ]


def _is_node(entry: Any) -> bool:
    user = at(entry, "username")
    return any(group in _NODES for group in items(at(entry, "groups"))) or (isinstance(user, str) and _MACHINE in user)


def _is_node_and_administrator(entry: Any, *, node: bool) -> Maybe[bool]:
    groups, user = items(at(entry, "groups")), at(entry, "username")
    if _ADMINISTRATORS in groups:
        return True if node else UNKNOWN if UNKNOWN in (*groups, user) else False
    return UNKNOWN if UNKNOWN in groups and node else False
