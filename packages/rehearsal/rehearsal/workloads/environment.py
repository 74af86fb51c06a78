"""A container's environment and arguments, resolved as a kubelet does.

https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/#envvar-v1-core; ``$(NAME)`` in values and
arguments: https://github.com/kubernetes/kubernetes/blob/v1.34.4/third_party/forked/golang/expansion/expand.go
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from facts.concepts.kubernetes import quantity

Object = Mapping[str, Any]
Find = Callable[[str, str], Object | None]
"""(``configmaps`` or ``secrets``, name) → the object in the pod's namespace, or ``None``."""

_REFERENCE: Final = re.compile(r"\$\$|\$\(([^)]*)\)")
_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class EnvironmentProblem(Exception):
    """Why a container cannot start yet: the message of a kubelet's ``CreateContainerConfigError``."""


def environment(pod: Object, container: Object, find: Find, node: Object) -> dict[str, str]:
    """A container's variables from the pod's specification, in order; later ones win.

    ``node``: its allocatable resources are the limits of a container without limits. Raises EnvironmentProblem: a
    required object that a variable refers to does not exist.
    """
    variables: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        variables.update(_whole(source, find))
    for variable in container.get("env") or ():
        if "valueFrom" not in variable:
            variables[variable["name"]] = expand(variable.get("value") or "", variables)
            continue
        value = _referred(variable["valueFrom"], pod, container, find, node)
        if value is not None:
            variables[variable["name"]] = value
    return variables


def arguments(container: Object, variables: Mapping[str, str]) -> list[str]:
    """The program's arguments: the rest of ``command``, then ``args``."""
    words = [*(container.get("command") or ())[1:], *(container.get("args") or ())]
    return [expand(word, variables) for word in words]


def expand(text: str, variables: Mapping[str, str]) -> str:
    """``text`` with every known ``$(NAME)`` replaced; ``$$`` is a dollar."""

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        return "$" if name is None else variables.get(name, match[0])

    return _REFERENCE.sub(replaced, text)


def _whole(source: Object, find: Find) -> Iterator[tuple[str, str]]:
    """Every key of a ConfigMap or Secret, with the prefix."""
    prefix = source.get("prefix") or ""
    for kind, plural in (("configMapRef", "configmaps"), ("secretRef", "secrets")):
        if kind in source:
            reference = source[kind]
            for key, value in (_data(plural, reference, find) or {}).items():
                yield prefix + key, value


def _referred(source: Object, pod: Object, container: Object, find: Find, node: Object) -> str | None:
    if "fieldRef" in source:
        return _field(source["fieldRef"]["fieldPath"], pod)
    if "resourceFieldRef" in source:
        return _resource(source["resourceFieldRef"], pod, container, node)
    for kind, plural in (("configMapKeyRef", "configmaps"), ("secretKeyRef", "secrets")):
        if kind in source:
            reference = source[kind]
            data = _data(plural, reference, find)
            if data is not None and reference["key"] in data:
                return data[reference["key"]]
            if reference.get("optional"):
                return None
            raise EnvironmentProblem(f"couldn't find key {reference['key']} in {plural[:-1]} {reference['name']}")
    raise EnvironmentProblem(f"the rehearsal does not know the source of a variable: {', '.join(source)}")


def _data(plural: str, reference: Object, find: Find) -> dict[str, str] | None:
    source = find(plural, reference["name"])
    if source is None:
        if reference.get("optional"):
            return None
        raise EnvironmentProblem(f'{plural[:-1]} "{reference["name"]}" not found')
    data: dict[str, str] = source.get("data") or {}
    if plural == "secrets":
        return {key: base64.b64decode(value).decode(errors="replace") for key, value in data.items()}
    return data


def _field(path: str, pod: Object) -> str:
    keyed = _KEYED.fullmatch(path)
    if keyed:
        return str((pod["metadata"].get(keyed[1]) or {}).get(keyed[2], ""))
    value: Any = pod
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)


def _resource(reference: Object, pod: Object, container: Object, node: Object) -> str:
    """https://kubernetes.io/docs/concepts/workloads/pods/downward-api/#downwardapi-resourceFieldRef."""
    named = reference.get("containerName") or container["name"]
    of = next(each for each in pod["spec"]["containers"] if each["name"] == named)
    kind, _, name = reference["resource"].partition(".")
    resources = of.get("resources") or {}
    value = (resources.get(kind) or {}).get(name)
    if value is None and kind == "limits":
        value = (node.get("status", {}).get("allocatable") or {}).get(name)
    divisor = quantity(str(reference.get("divisor") or "1")) or Decimal(1)
    return str(math.ceil(quantity(str(value or "0")) / divisor))
