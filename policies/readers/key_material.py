"""Finds keys that never expire in whatever a resource declares: Secrets, ConfigMaps, environments, chart values, boot
data, metadata. The forms of keys: ``facts/concepts/credentials.py``.

Private keys beside their certificates are allowed, which a server needs, everywhere but in ConfigMaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from facts.concepts.credentials import is_literal, names_clouds_key, static_key_in
from facts.concepts.declared import Credential
from facts.concepts.unknown import UNKNOWN, at, coalesce, items
from policies.readers.node_registration import decoded
from policies.readers.registry import reader_of
from policies.readers.resource import Declared
from policies.readers.spelling import parsed

_CONFIG_MAP: Final = "kubernetes:core/v1:ConfigMap"
# Read by themselves (``keys.py``), made for the program to use, or read object by object; and the provider of own
# machines, which logs in to them by SSH with its user's key.
_APART: Final = (
    *("gpucluster:index:", "gpucluster-machines:", "kubernetes:yaml", "pulumi:pulumi:", "tls:"),
    "pulumi:providers:gpucluster-machines",
)
_PROVIDER: Final = "pulumi:providers:"
_IN_PART: Final = tuple(
    f"pulumi:providers:{package}" for package in ("alicloud", "databricks", "helm", "kubectl", "oci", "vault")
)
"""Of these a reader knows the login to the cluster only."""
_CERTIFICATE: Final = "-----BEGIN CERTIFICATE"
_OF_SERVERS: Final = re.compile(r"(?!.*client).*(?:ce?rt|chain)", re.IGNORECASE)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]{20,}={0,2}\s*")
# https://docs.docker.com/reference/cli/docker/login/#credential-stores
_DOCKER: Final = re.compile(r"\"auth\"\s*:\s*\"([A-Za-z0-9+/]{20,}={0,2})\"")
# Files of cloud-init: https://docs.cloud-init.io/en/latest/reference/yaml_examples/write_files.html
_ENCODED: Final = re.compile(r"b(?:ase)?64|key_?-?data", re.IGNORECASE)
_LAYERS: Final = 6
"""How often a key may be encoded: a key file in the password of a login, which is in base64, twice over."""
# Resources that have a name and a value of their own: a variable of a pipeline, a parameter of a store.
_NAMES: Final = ("name", "key", "secretName", "variableName", "parameterName")
_VALUES: Final = re.compile(r"(?:plain_?text_?|secret_?)?value", re.IGNORECASE)
# The users of a kubeconfig: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/#AuthInfo
_USERS: Final = re.compile(
    r"\buser\b[\"']?\s*:\s*\{?\s*[\"']?(?:token|password)[\"']?\s*:\s*[\"']?(?P<value>[^\s\"',}]+)"
)
_USERS_KEY: Final = "a user's token in a kubeconfig"
# Google's and AWS' tokens of an hour at most, which their own commands write.
_SHORT: Final = re.compile(r"ya29\.|k8s-aws-v1\.|eyJ")
_INNER: Final = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,}={0,2}")
_NAMED: Final = "a secret key of a cloud"
_WANDB: Final = "a Weights & Biases key"
_WANDBS: Final = re.compile(r"(?:local-)?[0-9a-f]{40}\s*")
_KEY_NAME: Final = re.compile(r"(?:key|token)$", re.IGNORECASE)
# Lists of words that are one command.
_COMMAND: Final = re.compile(r"(?:command|args|arguments|cmd|entry_?point)$", re.IGNORECASE)


@dataclass(frozen=True)
class _Place:
    """Where a value stands, and which keys count there."""

    path: str = ""
    private: bool = True
    certificates: bool = True
    """Whether a private key beside a certificate is allowed."""
    about: str = ""
    """The names of the resource, of its chart and of that chart's repository."""

    def below(self, key: str, certified: bool = False) -> _Place:
        """The place of a part of the value."""
        path = f"{self.path}.{key}" if self.path and not key.startswith("[") else self.path + key
        return replace(self, path=path, private=self.private and not certified)


def key_material(resource: Declared) -> Iterator[Credential]:
    """One credential for each value of the resource that is, or contains, a key without an end of its own."""
    if resource.type.startswith(_APART):
        return
    by_itself = resource.type.startswith(_PROVIDER) and reader_of(resource.type) is not None
    inputs = _unjudged(resource.properties) if by_itself and resource.type not in _IN_PART else resource.properties
    named = (at(inputs, *path) for path in (("metadata", "name"), ("chart",), ("repositoryOpts", "repo")))
    about = " ".join([resource.name, *(each for each in named if isinstance(each, str))])
    place = _Place(certificates=resource.type != _CONFIG_MAP, about=about)
    for path, key in _keys({"kind": resource.kind, **inputs}, place):
        where = f"{resource.kind} '{resource.name}' ({path})"
        unknown = key is UNKNOWN
        yield Credential(where if unknown else f"{key} in {where}", UNKNOWN if unknown else True, resource.urn)


def _unjudged(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a provider has beside the login that its reader judges; of a kubeconfig how each user gets a token."""
    rest = {key: value for key, value in inputs.items() if key not in _LOGINS}
    config = inputs.get(_KUBECONFIG)
    users = items(at(parsed(config) if isinstance(config, str) else config, "users"))
    how = [{key: at(each, "user", key) for key in ("exec", "auth-provider")} for each in users]
    return {**rest, **({_KUBECONFIG: how} if how else {})}


_KUBECONFIG: Final = "kubeconfig"
_LOGINS: Final = (
    *("accessKey", "secretKey", "token", "credentials", "accessToken", "oidcToken", _KUBECONFIG),
    *("clientSecret", "clientCertificate", "clientCertificatePassword"),
)


def _keys(value: Any, place: _Place) -> Iterator[tuple[str, Any]]:
    """Each path with the key that is there, ``UNKNOWN`` where its name says that there will be one."""
    if isinstance(value, str):
        if len(value) >= _SHORTEST and (key := _key_of(value, place.private, place.certificates)):
            yield place.path, key
    elif isinstance(value, Mapping):
        certified = place.certificates and any(_is_certificate(*each) for each in value.items())
        for key, part in _unsealed(value).items():
            below = place.below(str(key), certified)
            if len(str(key)) >= _SHORTEST and (own := _key_of(str(key), place.private, place.certificates)):
                yield f"the name of a value in {place.path or 'its inputs'}", own
                below = place.below("[secret]", certified)
            name = coalesce(*map(value.get, _NAMES)) if _VALUES.fullmatch(str(key)) else key
            if names_clouds_key(str(name).rpartition("/")[2]) and _may_be_key(part):
                yield below.path, UNKNOWN if part is UNKNOWN else _NAMED
            elif _is_of_wandb(str(name), part, below):
                yield below.path, _WANDB
            else:
                yield from _keys(part, below)
    elif isinstance(value, (list, tuple)):
        own = [each for number, part in enumerate(value) for each in _keys(part, place.below(f"[{number}]"))]
        yield from own
        if not own and _COMMAND.search(place.path) and all(isinstance(each, str) for each in value):
            yield from _keys(" ".join(value), place)


def _is_of_wandb(name: str, value: Any, place: _Place) -> bool:
    """Whether a value is a key of Weights & Biases, which looks like a commit: by its name and those above it.

    https://docs.wandb.ai/ref/cli/wandb-login
    """
    if not isinstance(value, str) or not _KEY_NAME.search(name):
        return False
    said = f"{place.about} {place.path} {name}".casefold()
    return "wandb" in said and any(_WANDBS.fullmatch(each) for each in (value, decoded(value) or ""))


def _unsealed(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A ``SealedSecret`` without the values that only its controller can read; any other value as it is.

    https://github.com/bitnami-labs/sealed-secrets
    """
    if value.get("kind") != "SealedSecret" or not isinstance(spec := value.get("spec"), Mapping):
        return value
    return {**value, "spec": {key: part for key, part in spec.items() if key != "encryptedData"}}


_SHORTEST: Final = 15
"""Characters: those of the shortest token."""


@lru_cache(maxsize=1024)  # each resource is read by itself and with the whole stack, and many have the same texts
def _key_of(text: str, private: bool, certificates: bool) -> str:
    for each in _layers(text, _LAYERS):
        if key := static_key_in(each, private=private and not (certificates and _CERTIFICATE in each)):
            return key
        if any(is_literal(user["value"]) and not _SHORT.match(user["value"]) for user in _USERS.finditer(each)):
            return _USERS_KEY
    return ""


def _layers(text: str, depth: int) -> Iterator[str]:
    """The text, and what is in it in base64."""
    yield text
    if depth:
        whole = decoded(text) if _BASE64.fullmatch(text) else None
        plain = whole or text
        inside = [*_DOCKER.findall(plain), *(_INNER.findall(plain) if _ENCODED.search(plain) else ())]
        for each in (whole, *map(decoded, inside)):
            if each and each != text:
                yield from _layers(each, depth - 1)


def _is_certificate(key: Any, value: Any) -> bool:
    if _OF_SERVERS.match(str(key)) is None:
        return False
    return value is UNKNOWN or (isinstance(value, str) and _CERTIFICATE in (decoded(value) or ""))


def _may_be_key(value: Any) -> bool:
    return value is UNKNOWN or (isinstance(value, str) and is_literal(decoded(value) or value))
