"""Templates of CloudFormation and resources of Cloud Control, whose resources are those of the provider ``aws-native``.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-template-resource-type-ref.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import yaml

from facts.concepts.unknown import UNKNOWN, Maybe, at, both, coalesce, either, holds_unknown, items, negation, whole
from policies.dialects import amazon
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling, in_camel_case, in_words


def read_template(declared: Declared) -> Iterable[Declared]:
    """``aws:cloudformation/stack:Stack``: the resources of its template, each with what its references come to."""
    body = declared.properties.get("templateBody")
    template = _parsed(body)
    resources = at(template, "Resources")
    if not isinstance(resources, Mapping):
        yield declared
        return
    given = _given(declared.properties)
    known = {
        **{str(name): _of_parameter(each, at(given, name)) for name, each in _named(template, "Parameters")},
        **{str(name): str(name) for name in resources},
    }
    known |= {_CONDITIONS: template.get("Conditions"), _MAPPINGS: template.get("Mappings")}
    region = coalesce(declared.properties.get("region"), declared.provider.get("region"))
    known |= {} if region is None else {"AWS::Region": region}
    unread = any(_is_function(name) for name in (*resources, *template)) or not _only_known_macros(template)
    for name, resource in resources.items():
        condition = at(resource, "Condition")
        if condition is not None and _holds({"Condition": condition}, known) is False:
            continue
        properties = _resolved(at(resource, "Properties"), known)
        if (
            properties is UNKNOWN
            or decides_unknown(properties)
            or (isinstance(resource, Mapping) and any(map(_is_function, resource)))
        ):
            unread = True  # no update tells the engine what the cloud makes of it
        yield from _resource(declared, str(name), at(resource, "Type"), properties, known)
    if unread:
        yield declared


_DECIDING: Final = re.compile(
    r"(?:min|max|desired)_?(?:size|capacity|count|nodes)|scalingconfig|count|replicas|instancetypes?|vmsize|(?:node)?taints",
    re.IGNORECASE,
)
"""Keys of numbers of nodes, machines and taints, on which the rules decide."""


def decides_unknown(properties: Any) -> bool:
    """Whether a template's resource does not say what rules decide on, as its functions run in the cloud."""
    if isinstance(properties, Mapping):
        return any(
            (_DECIDING.fullmatch(str(key)) is not None and holds_unknown(part)) or decides_unknown(part)
            for key, part in properties.items()
        )
    return isinstance(properties, (list, tuple)) and any(map(decides_unknown, properties))


def _of_parameter(parameter: Any, given: Any) -> Any:
    """What a reference to a parameter comes to: its value, unless AWS stores that value under this name.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-supplied-parameter-types.html
    """
    kind, value = at(parameter, "Type"), coalesce(given, at(parameter, "Default"))
    if not isinstance(kind, str) or kind.startswith("AWS::SSM::Parameter::Value") or value is None:
        return UNKNOWN
    listed = kind == "CommaDelimitedList" or kind.startswith("List<")
    return [part.strip() for part in value.split(",")] if listed and isinstance(value, str) else value


def _given(properties: Mapping[str, Any]) -> Any:
    """The parameters of a stack, or of a stack set, whose groups of instances may have others of their own.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-stackset.html
    """
    parameters = properties.get("parameters")
    if isinstance(parameters, (list, tuple)):
        parameters = {str(at(each, "parameterKey")): at(each, "parameterValue") for each in parameters}
    groups = items(properties.get("stackInstancesGroup"))
    own = [at(each, "parameterKey") for group in groups for each in items(at(group, "parameterOverrides"))]
    given = parameters if isinstance(parameters, Mapping) or parameters is UNKNOWN else {}
    return {**given, **dict.fromkeys(own, UNKNOWN)} if own and given is not UNKNOWN else given


def _named(template: Any, section: str) -> Iterable[tuple[Any, Any]]:
    entries = at(template, section)
    return entries.items() if isinstance(entries, Mapping) else ()


def _is_function(key: Any) -> bool:
    return str(key).startswith("Fn::")


# Those of AWS that make no node groups: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-reference.html
_KNOWN_MACROS: Final = (
    "AWS::CodeDeployBlueGreen",
    "AWS::LanguageExtensions",
    "AWS::SecretsManager-2020-07-23",
    "AWS::SecretsManager-2024-09-16",
    "AWS::Serverless-2016-10-31",
)


def _only_known_macros(template: Any) -> bool:
    macros = at(template, "Transform")
    listed = macros if isinstance(macros, (list, tuple)) else () if macros is None else (macros,)
    return all(isinstance(each, str) and each in _KNOWN_MACROS for each in listed)


def read_cloud_control(declared: Declared) -> Iterable[Declared]:
    """``aws:cloudcontrol/resource:Resource``: any resource of CloudFormation's, its properties as JSON."""
    desired = _parsed(declared.properties.get("desiredState"))
    if not isinstance(desired, Mapping):
        yield declared
        return
    yield from _resource(declared, declared.name, declared.properties.get("typeName"), desired, {})


def read_extension(declared: Declared) -> Iterable[Declared]:
    """``aws-native:index:ExtensionResource``: https://www.pulumi.com/registry/packages/aws-native/api-docs/extensionresource/."""
    properties = declared.properties.get("properties")
    if not isinstance(properties, Mapping):
        yield declared
        return
    yield from _resource(declared, declared.name, declared.properties.get("type"), properties, {})


SPELLINGS: Final[Mapping[str, Spelling]] = {
    "aws-native:index:ExtensionResource": read_extension,
    "aws:cloudformation/stack:Stack": read_template,
    "aws:cloudformation/stackSet:StackSet": read_template,
    "aws-native:cloudformation:Stack": read_template,
    "aws-native:cloudformation:StackSet": read_template,
    "aws:cloudcontrol/resource:Resource": read_cloud_control,
}


def _resource(
    declared: Declared, name: str, kind: Any, properties: Any, known: Mapping[str, Any]
) -> Iterable[Declared]:
    """One resource of a template: ``AWS::EKS::Nodegroup`` as the provider ``aws-native`` calls it. What is no resource
    of AWS's own runs code: ``Custom::``, a module, an extension of others."""
    parts = str(kind).split("::")
    if len(parts) != 3 or parts[0] != "AWS":
        parts = ["AWS", "CloudFormation", "CustomResource"]
    resolved = _resolved({} if properties is UNKNOWN else properties or {}, known)
    body = in_camel_case(in_words(resolved)) if isinstance(resolved, Mapping) else {}
    token = f"aws-native:{parts[1].lower()}:{parts[2]}"
    # Others in the template refer to it by this name.
    own = {"id": name} if known else {}
    # Tags and dependencies of the stack as a whole are no property's.
    inner = replace(declared, type=token, name=name, properties={**body, **own}, dependencies={})
    spelling = SPELLINGS.get(token) or amazon.SPELLINGS.get(token)
    yield from spelling(inner) if spelling else (inner,)


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms (``!Ref x`` for ``{"Ref": "x"}``)."""


def _short_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True) if isinstance(node, yaml.MappingNode) else None
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_form)


def _parsed(body: Any) -> Any:
    """JSON or YAML as Python; ``None`` for what is neither, or not known yet."""
    if not isinstance(body, str):
        return body if isinstance(body, Mapping) else None
    try:
        return json.loads(body)
    except ValueError:
        pass
    try:
        return yaml.load(body, _Loader)
    except yaml.YAMLError:
        return None


def _resolved(value: Any, known: Mapping[str, Any]) -> Any:
    """The value without functions: a reference to a resource is its name, and what the template cannot tell UNKNOWN."""
    if isinstance(value, (list, tuple)):
        return [_resolved(part, known) for part in value]
    if not isinstance(value, Mapping):
        return value
    if len(value) > 1 and any(map(_is_function, value)):
        return UNKNOWN
    if len(value) == 1:
        ((function, argument),) = value.items()
        if argument == "AWS::NoValue" and function == "Ref":
            return None
        if function == "Ref":
            referenced = known.get(argument, UNKNOWN) if isinstance(argument, str) else UNKNOWN
            return UNKNOWN if referenced is None else referenced
        if isinstance(function, str) and function.startswith("Fn::"):
            return _called(function, argument, known)
    return {key: _resolved(part, known) for key, part in value.items()}


_CONDITIONS: Final = "Fn::Conditions"
_MAPPINGS: Final = "Fn::Mappings"
_DEEPEST: Final = 20


def _holds(condition: Any, known: Mapping[str, Any], depth: int = 0) -> Maybe[bool]:
    """https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference-conditions.html"""
    if not isinstance(condition, Mapping) or len(condition) != 1 or depth > _DEEPEST:
        return UNKNOWN
    ((function, argument),) = condition.items()
    parts = items(argument)
    if function == "Condition":
        return _holds(at(known.get(_CONDITIONS), str(argument)), known, depth + 1)
    if function == "Fn::Equals" and len(parts) == 2:
        one, other = (_resolved(part, known) for part in parts)
        texts = _as_text(one), _as_text(other)
        return UNKNOWN if UNKNOWN in texts else texts[0] == texts[1]
    if function == "Fn::Not" and len(parts) == 1:
        return negation(_holds(parts[0], known, depth + 1))
    answers = [_holds(part, known, depth + 1) for part in parts]
    return both(answers) if function == "Fn::And" else either(answers) if function == "Fn::Or" else UNKNOWN


def _as_text(value: Any) -> Any:
    """As CloudFormation compares it, which turns switches and numbers into their text in JSON."""
    if isinstance(value, (str, bool, int)):
        return value if isinstance(value, str) else json.dumps(value)
    return UNKNOWN


def _called(function: str, argument: Any, known: Mapping[str, Any]) -> Any:
    if function == "Fn::If" and len(parts := items(argument)) == 3:
        held = _holds({"Condition": parts[0]}, known)
        return UNKNOWN if held is UNKNOWN else _resolved(parts[1 if held else 2], known)
    if function == "Fn::Base64":
        return _resolved(argument, known)
    if function == "Fn::Sub":
        return _substituted(argument, known)
    if function in _OF_LISTS:
        parts = _resolved(argument, known)
        return UNKNOWN if parts is UNKNOWN else _OF_LISTS[function](items(parts), known)
    if function == "Fn::GetAtt":
        name, _, attribute = argument.partition(".") if isinstance(argument, str) else (*argument, "", "")[:3]
        attribute = attribute if isinstance(argument, str) else argument[-1]
        return known.get(name, UNKNOWN) if attribute == "LaunchTemplateId" else UNKNOWN
    return UNKNOWN


_VARIABLE: Final = re.compile(r"\$\{(!?)([^}]*)\}")


def _substituted(argument: Any, known: Mapping[str, Any]) -> Any:
    """https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-sub.html"""
    template, own = (argument, {}) if isinstance(argument, str) else (*items(argument), None, None)[:2]
    names = {**known, **own} if isinstance(own, Mapping) else known
    if not isinstance(template, str):
        return UNKNOWN
    values = [
        f"${{{name}}}" if literal else _as_text(_resolved(names.get(name.strip(), UNKNOWN), known))
        for literal, name in _VARIABLE.findall(template)
    ]
    if UNKNOWN in values:
        return UNKNOWN
    texts = iter(values)
    return _VARIABLE.sub(lambda _: str(next(texts)), template)


def _in_map(parts: Sequence[Any], known: Mapping[str, Any]) -> Any:
    keys = [_as_text(part) for part in parts[:3]]
    value = UNKNOWN if UNKNOWN in keys or len(keys) < 3 else at(known.get(_MAPPINGS), *keys)
    return coalesce(value, at(parts[3] if len(parts) > 3 else None, "DefaultValue"), UNKNOWN)


def _selected(parts: Sequence[Any], _: Mapping[str, Any]) -> Any:
    index, listed = whole(parts[0] if parts else None), items(parts[1] if len(parts) == 2 else None)
    return listed[index] if isinstance(index, int) and 0 <= index < len(listed) else UNKNOWN


def _split(parts: Sequence[Any], _: Mapping[str, Any]) -> Any:
    texts = [part for part in parts if isinstance(part, str) and part]
    return texts[1].split(texts[0]) if len(texts) == 2 == len(parts) else UNKNOWN


def _joined(parts: Sequence[Any], _: Mapping[str, Any]) -> Any:
    delimiter = parts[0] if len(parts) == 2 else None
    texts = [_as_text(part) for part in items(parts[1])] if isinstance(delimiter, str) else [UNKNOWN]
    return UNKNOWN if UNKNOWN in texts else str(delimiter).join(map(str, texts))


# https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
_OF_LISTS: Final[Mapping[str, Callable[[Sequence[Any], Mapping[str, Any]], Any]]] = {
    "Fn::FindInMap": _in_map,
    "Fn::Join": _joined,
    "Fn::Select": _selected,
    "Fn::Split": _split,
}
