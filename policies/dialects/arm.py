"""Azure's resources in templates and in the generic resources of providers: ARM, Bicep's output, azapi.

https://learn.microsoft.com/azure/azure-resource-manager/templates/syntax and
https://learn.microsoft.com/azure/developer/terraform/overview-azapi-provider
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, at, coalesce, items
from policies.dialects.cloudformation import decides_unknown
from policies.readers.aks.clusters import UPDATE, merged
from policies.readers.aks.template_expressions import evaluated
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling

_OF_A_TEMPLATE: Final = "azure-native:resources:Deployment"
_GENERIC: Final = "azure-native:resources:Resource"
_CLUSTERS: Final = "microsoft.containerservice/managedclusters"
_DEPLOYMENT: Final = "microsoft.resources/deployments"
_STACK: Final = "microsoft.resources/deploymentstacks"
_SCRIPT: Final = "microsoft.resources/deploymentscripts"
_DEEPEST: Final = 8


def read_deployment(declared: Declared) -> Iterable[Declared]:
    """``azure-native:resources:Deployment``: its template is an object in ``properties``; a stack has no such."""
    inner = coalesce(declared.properties.get("properties"), declared.properties)
    elsewhere = None if at(inner, "parametersLink") is None else UNKNOWN
    yield from _template(declared, at(inner, "template"), coalesce(at(inner, "parameters"), elsewhere))


def read_classic_deployment(declared: Declared) -> Iterable[Declared]:
    """``azure:core/resourceGroupTemplateDeployment:ResourceGroupTemplateDeployment``: its template is JSON."""
    inputs = declared.properties
    yield from _template(declared, inputs.get("templateContent"), inputs.get("parametersContent"))


def read_azapi(declared: Declared) -> Iterable[Declared]:
    """``azapi:index/resource:Resource``: one resource, its type with the API's version behind ``@``."""
    inputs = declared.properties
    kind = inputs.get("type")
    body, sensitive = _parsed(inputs.get("body")), _parsed(inputs.get("sensitiveBody"))
    if sensitive is UNKNOWN:
        yield declared
    elif sensitive is not None:
        body = merged(coalesce(body, {}), sensitive)
    if not isinstance(kind, str) or not isinstance(body, Mapping):
        yield declared
        return
    parent = inputs.get("parentId")
    above = parent.rpartition("/")[2] if isinstance(parent, str) else ""
    name = inputs.get("name")
    path = f"{above}/{name}" if kind.partition("@")[0].count("/") > 1 else name
    outer = {key: inputs[key] for key in ("location", "tags") if key in inputs}
    # What it does not name stays as it is.
    if declared.type.endswith(":UpdateResource") and kind.lower().startswith(_CLUSTERS):
        yield replace(
            declared, type=UPDATE, properties={**inputs, "body": body}
        )  # what it does not name stays as it is
        return
    if kind.partition("@")[0].lower() in (_DEPLOYMENT, _STACK):
        yield replace(declared, type=_OF_A_TEMPLATE, properties=body)
        return
    yield _resource(declared, kind.partition("@")[0], path, {**outer, **body})


def read_nextgen(declared: Declared) -> Iterable[Declared]:
    """``azure-nextgen``, the archived provider that became ``azure-native`` with the same properties.

    https://www.pulumi.com/registry/packages/azure-native/
    """
    yield replace(declared, type=declared.type.replace("azure-nextgen:", "azure-native:", 1))


SPELLINGS: Final[Mapping[str, Spelling]] = {
    "azure-nextgen:*": read_nextgen,
    "azure-native*:resources*:Deployment*": read_deployment,
    "azure:core/*TemplateDeployment:*": read_classic_deployment,
    "azapi:index/resource:Resource": read_azapi,
    "azapi:index/updateResource:UpdateResource": read_azapi,
}


@dataclass(frozen=True)
class _Scope:
    """What expressions of a template may refer to; ``depth``: how many templates and resources it is inside of."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 0


_OUTERMOST: Final = _Scope()


def _template(declared: Declared, template: Any, parameters: Any, outer: _Scope = _OUTERMOST) -> Iterator[Declared]:
    """The resources of a template; a nested one may use the parameters and variables of the ``outer`` one."""
    body, given_parameters = _parsed(template), _parsed(parameters)
    if not isinstance(body, Mapping) or "resources" not in body or outer.depth > _DEEPEST:
        yield declared
        return
    known: dict[str, Any] = {}
    given_values = dict(_pairs(given_parameters))
    for name, parameter in _pairs(body.get("parameters")):
        # One in a key vault has no value here.
        given = UNKNOWN if given_parameters is UNKNOWN else given_values.get(name)
        default = coalesce(at(parameter, "defaultValue"), UNKNOWN)
        known[name] = default if given is None else coalesce(at(given, "value"), UNKNOWN)
    variables = dict(_pairs(body.get("variables")))
    # https://learn.microsoft.com/azure/azure-resource-manager/templates/linked-templates#expression-evaluation-scope-in-nested-templates
    scope = _Scope({**known, **outer.parameters}, {**variables, **outer.variables}, outer.depth)
    yield from _resources(declared, body["resources"], scope)


def _resources(
    declared: Declared, listed: Any, scope: _Scope, kind_above: str = "", name_above: str = ""
) -> Iterator[Declared]:
    deeper = replace(scope, depth=scope.depth + 1)
    # Newer templates have a map of them: https://learn.microsoft.com/azure/azure-resource-manager/templates/syntax
    for entry in listed.values() if isinstance(listed, Mapping) else items(listed):
        resource = _resolved(entry, scope)
        if isinstance(entry, Mapping) and at(resource, "copy") is not None:
            # https://learn.microsoft.com/azure/azure-resource-manager/templates/copy-resources
            count = at(resource, "copy", "count")
            unread = not isinstance(count, int)  # then the template is, as a whole
            once = [{key: part for key, part in entry.items() if key != "copy"}]
            for number in range(min(count, _MOST_ELEMENTS) if isinstance(count, int) else 1):
                of_loop = replace(declared, name=f"{declared.name}[{number}]")
                for each in _resources(of_loop, once, scope, kind_above, name_above):
                    unread = unread or each is of_loop
                    yield from () if each is of_loop else (each,)
            yield from (declared,) if unread else ()
            continue
        kind = at(resource, "type")
        if not isinstance(resource, Mapping) or not isinstance(kind, str) or scope.depth > _DEEPEST:
            yield declared
            continue
        name = resource.get("name")
        if kind_above:
            kind, name = f"{kind_above}/{kind}", f"{name_above}/{name}" if isinstance(name, str) else UNKNOWN
        # Its children are deployed all the same:
        # https://learn.microsoft.com/azure/azure-resource-manager/templates/conditional-resource-deployment
        if resource.get("condition") is False or resource.get("existing") is True:
            below = name if isinstance(name, str) else ""
            yield from _resources(declared, resource.get("resources"), deeper, kind, below)
            continue
        if kind.lower() == _SCRIPT:
            yield replace(declared, type="azure-native:resources:AzureCliScript", dependencies={})
            continue
        if kind.lower() == _DEPLOYMENT:
            given_parameters = at(resource, "properties", "parameters")
            own_scope = at(resource, "properties", "expressionEvaluationOptions", "scope")
            above = _Scope(depth=deeper.depth) if str(own_scope).lower() == "inner" else deeper
            yield from _template(declared, at(entry, "properties", "template"), given_parameters, above)
            continue
        if decides_unknown(resource.get("properties")) and not decides_unknown(entry.get("properties")):
            yield declared  # an expression that the cloud evaluates: no update tells the engine what it comes to
        yield _resource(declared, kind, name, resource)
        below = name if isinstance(name, str) else ""
        yield from _resources(declared, resource.get("resources"), deeper, kind, below)


def _resource(declared: Declared, kind: str, path: Any, body: Mapping[str, Any]) -> Declared:
    """As ``azure-native`` declares a type that it does not know; ``path`` is its name below those of its parents."""
    above, _, name = path.rpartition("/") if isinstance(path, str) else ("", "", path)
    namespace, _, short = kind.partition("/")
    properties = {
        **{key: body[key] for key in ("location", "tags", "sku") if key in body},
        "resourceProviderNamespace": namespace,
        "resourceType": short,
        "resourceName": name,
        "parentResourcePath": above or None,
        "properties": coalesce(body.get("properties"), {}),
    }
    own_name = name if isinstance(name, str) else declared.name
    return replace(declared, type=_GENERIC, name=own_name, properties=properties, dependencies={})


def _resolved(value: Any, scope: _Scope, depth: int = 0) -> Any:
    """The value without expressions; ``UNKNOWN`` for one that only Azure can evaluate."""
    if isinstance(value, (list, tuple)):
        return [_resolved(part, scope, depth) for part in value]
    if isinstance(value, Mapping):
        resolved = {key: _resolved(part, scope, depth) for key, part in value.items()}
        return {**resolved, **dict(_repeated(resolved.get("copy")))}
    if not isinstance(value, str) or not (value.startswith("[") and value.endswith("]")) or value.startswith("[["):
        return value

    def lookup(function: str, name: str) -> Any:
        known = scope.parameters if function == "parameters" else scope.variables
        name = name.lower()
        return _resolved(known[name], scope, depth + 1) if name in known and depth < _DEEPEST else UNKNOWN

    return evaluated(value[1:-1], lookup)


def _repeated(loops: Any) -> Iterator[tuple[str, Any]]:
    """Properties that are lists, made by a loop: the element, as often as the loop says, and once if that is unknown.

    https://learn.microsoft.com/azure/azure-resource-manager/templates/copy-properties
    """
    for loop in items(loops):
        name, count, element = (at(loop, key) for key in ("name", "count", "input"))
        if isinstance(name, str) and element is not None:
            yield name, [element] * (min(count, _MOST_ELEMENTS) if isinstance(count, int) else 1)


_MOST_ELEMENTS: Final = 800
"""https://learn.microsoft.com/azure/azure-resource-manager/templates/copy-properties#property-iteration: of a loop"""


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Parameters or variables, by their names in lower case: Azure ignores it."""
    yield from ((str(key).lower(), part) for key, part in value.items()) if isinstance(value, Mapping) else ()


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None
