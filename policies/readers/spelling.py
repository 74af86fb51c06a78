"""One resource in another spelling: another provider's, a template's, or that of a controller in Kubernetes.

A module's ``SPELLINGS`` map a type token (or a pattern) to a function that says the same with the types and names that
the readers know; it yields several resources for a template.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, Maybe, at
from policies.readers.node_registration import decoded
from policies.readers.resource import Declared

Spelling = Callable[[Declared], Iterable[Declared]]

SINGULAR: Final = frozenset(
    (
        "advancedMachineFeatures",
        "autoHealingPolicies",
        "autoProvisioningDefaults",
        "baselineEbsBandwidthMbps",
        "blueGreenSettings",
        "capacityReservationOptions",
        "computeResources",
        "confidentialNodes",
        "cpuOptions",
        "defaultSnatStatus",
        "ebs",
        "ecsParameters",
        "enableK8sBetaApis",
        "enclaveOptions",
        "eventbridgeParameters",
        "exclusionOptions",
        "hibernationOptions",
        "initializeParams",
        "instanceMarketOptions",
        "instanceProperties",
        "instanceRequirements",
        "kinesisParameters",
        "maintenanceOptions",
        "maintenanceStrategies",
        "managedPrometheus",
        "maxScaledDownReplicas",
        "maxScaledInReplicas",
        "meshCertificates",
        "metadataOptions",
        "networkBandwidthGbps",
        "networkPerformanceOptions",
        "networkTags",
        "nodeConfigDefaults",
        "nodePoolDefaults",
        "onDemandOptions",
        "params",
        "preferences",
        "privateDnsNameOptions",
        "remoteNodeNetworks",
        "remotePodNetworks",
        "resourcePolicies",
        "retentionTriggers",
        "sagemakerPipelineParameters",
        "shareSettings",
        "specificSkuProperties",
        "spotMaintenanceStrategies",
        "spotOptions",
        "sqsParameters",
        "upgradeSettings",
        "writableCgroups",
    )
)
"""Blocks of which there is one at most, although their names end in s."""
OWN_KEYS: Final = ("Labels", "Tags", "labels", "tags", "parameters", "Parameters")
"""What has keys of the user's own, not the API's."""


def respelled(
    declared: Declared, type_token: str, properties: Mapping[str, Any], names: Mapping[str, str] | None = None
) -> Declared:
    """The same resource as ``type_token``, with properties called as ``names`` (its name → the readers') says.

    A property that has the readers' name beside one that is called so now is none of this spelling's.
    """
    called = names or {}
    hidden = {called[key] for key in properties if key in called} - called.keys()
    return replace(
        declared,
        type=type_token,
        properties={called.get(key, key): value for key, value in properties.items() if key not in hidden},
        dependencies={called.get(key, key): urns for key, urns in declared.dependencies.items()},
    )


def renaming(type_token: str, **names: str) -> Spelling:
    """A spelling that differs in the names of properties only."""
    return lambda declared: (respelled(declared, type_token, declared.properties, names),)


# ``ID`` of ``imageID``, ``VPC`` of ``VPCZoneIdentifier``, ``CIDR`` of ``publicAccessCIDRs``.
_CAPITALS: Final = re.compile(r"(?:^[A-Z]+|(?<=[a-z\d])[A-Z]{2,})(?=[A-Z][a-z]|s?$)")
_UNITS: Final = re.compile(r"[vV]Cpu|[GM]iB")


def in_camel_case(value: Any) -> Any:
    """``{"MinSize": 1}`` → ``{"minSize": 1}``, at any depth; maps whose keys are the user's stay as they are."""
    return _named(value, lambda key: f"{key[:1].lower()}{key[1:]}")


def in_words(value: Any) -> Any:
    """Names of Amazon's API in the words of the provider ``aws``: ``imageID`` → ``imageId``, ``MiB`` → ``Mib``."""
    return _named(value, _in_words)


def _in_words(key: str) -> str:
    words = _CAPITALS.sub(lambda run: run[0].capitalize() if run.start() else run[0].lower(), key)
    return _UNITS.sub(lambda unit: unit[0].capitalize() if unit.start() else unit[0].lower(), words)


def _named(value: Any, name: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {
            name(key) if isinstance(key, str) else key: part
            if key in OWN_KEYS and isinstance(part, Mapping)
            else _named(part, name)
            for key, part in value.items()
        }
    return [_named(part, name) for part in value] if isinstance(value, (list, tuple)) else value


def of_terraform(value: Any, foreign: Collection[str] = ()) -> Any:
    """Terraform's schema as a controller or an unbridged provider shows it, with the names of bridged providers.

    A list is there by its own name and by the plural that bridged providers give it, and so is what is not known yet;
    some versions show a block of
    which there is one at most as a list of one, which is there as the block. ``foreign``: names that the tool does not
    have, and drops.
    """
    if isinstance(value, Mapping):
        own = {key: part for key, part in value.items() if key not in foreign}
        listed = {_plural(key): of_terraform(part, foreign) for key, part in own.items() if _is_several(key, part)}
        return {**{key: _block(key, part, foreign) for key, part in own.items()}, **listed}
    return [of_terraform(part, foreign) for part in value] if isinstance(value, (list, tuple)) else value


def _is_several(key: Any, value: Any) -> bool:
    named = isinstance(key, str) and (key.endswith("ss") or not key.endswith("s"))
    return named and (value is UNKNOWN or isinstance(value, (list, tuple)))


def _plural(key: str) -> str:
    return f"{key}es" if key.endswith("s") else f"{key}s"


def _block(key: Any, value: Any, foreign: Collection[str]) -> Any:
    if key in OWN_KEYS and isinstance(value, Mapping):
        return value
    one = isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(value[0], Mapping)
    single = one and (_is_several(key, value) or key in SINGULAR)
    return of_terraform(value[0] if single else value, foreign)


def tag_key(value: Any) -> Maybe[str | None]:
    """A tag's key; ``UNKNOWN`` for what is not known, or no text."""
    return value if isinstance(value, str) or value is None else UNKNOWN


def tags_of_pairs(value: Any) -> Any:
    """``[{"key": "a", "value": "b"}]`` → ``{"a": "b"}``, ``UNKNOWN`` if a key is; anything else as it is."""
    if not isinstance(value, (list, tuple)):
        return value
    if any(UNKNOWN in (entry, at(entry, "key")) for entry in value):
        return UNKNOWN
    pairs = [entry for entry in value if isinstance(entry, Mapping)]
    return {entry["key"]: entry.get("value", UNKNOWN) for entry in pairs if isinstance(entry.get("key"), str)}


def parsed(value: Any) -> Any:
    """Values that are written as a text, in YAML or JSON; ``UNKNOWN`` for a text that is neither."""
    if not isinstance(value, str):
        return value
    import yaml  # 0.1 s that few programs need to spend

    try:
        return yaml.safe_load(value)
    except yaml.YAMLError:
        return UNKNOWN


def parsed_all(text: str) -> list[Any]:
    """The documents of a text in YAML; none for a text that is none, or a template."""
    import yaml  # as above

    try:
        return [*yaml.safe_load_all(text)]
    except yaml.YAMLError:
        return []


# Keys as YAML and JSON may write them: https://yaml.org/spec/1.2.2/#57-escaped-characters
_ESCAPED: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|\r?\n[ \t]*())")
_KEY: Final = r"(?:^|[{{,])[\s?-]*[\"']?{}[\"']?\s*:"
_MANIFEST_KEYS: Final = [re.compile(_KEY.format(key), re.MULTILINE) for key in ("apiVersion", "kind")]
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/\s]{40,}={0,2}\s*")
_CONTROL: Final = re.compile(
    r"^[ \t]*\{\{-?\s*(?:if|else|end|range|with|define|block|/\*|\$\w+\s*:?=).*?\}\}[ \t]*$", re.MULTILINE
)
_PLACEHOLDER: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_WORD: Final = "\ue000"
"""A character of no script, in place of a placeholder."""


def manifests(value: str) -> list[Any]:
    """The documents of a text that looks like a manifest, or a template of one; none for any other text, and for one
    that cannot be read."""
    content = manifest_text(value)
    return [] if content is None else [_with_unknowns(each) for each in parsed_all(_filled(content))]


def manifest_text(value: str) -> str | None:
    """The text, out of base64 where it is in it, if it has the keys of a manifest."""
    encoded = decoded(value) if _ENCODED.fullmatch(value) else None
    content = value if encoded is None else encoded
    plain = _ESCAPED.sub(_unescaped, content) if "\\" in content else content
    return content if all(key.search(plain) for key in _MANIFEST_KEYS) else None


def _unescaped(match: re.Match[str]) -> str:
    digits = next((each for each in match.groups() if each), "")
    number = int(digits, 16) if digits else 0
    return chr(number) if 0 < number <= sys.maxunicode else ""


def _filled(content: str) -> str:
    """A template of Go, or of Argo, with a word in place of each placeholder."""
    return _PLACEHOLDER.sub(_WORD, _CONTROL.sub("", content)) if "{{" in content else content


def _with_unknowns(value: Any) -> Any:
    """Values that are nothing but a placeholder are unknown."""
    if isinstance(value, Mapping):
        return {key: _with_unknowns(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_unknowns(part) for part in value]
    if not isinstance(value, str) or _WORD not in value:
        return value
    return UNKNOWN if value.strip() == _WORD else value.replace(_WORD, "placeholder")


# Of Helm, Argo and Kyverno; of kro, OpenShift and Flux; of Flux' ResourceSets.
_TEMPLATED: Final = re.compile(r"\{\{.*?\}\}|\$\{.*?\}|<<.*?>>", re.DOTALL)
_SPACE: Final = re.compile(r"\s")


def filled_in(value: Any) -> Any:
    """A value of a tool's template: words with a placeholder are unknown. Sentences and scripts stay as they are."""
    if isinstance(value, Mapping):
        return {key: filled_in(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [filled_in(part) for part in value]
    if not isinstance(value, str) or not _TEMPLATED.search(value):
        return value
    return value if _SPACE.search(_TEMPLATED.sub("", value).strip()) else UNKNOWN
