"""What a program installs, as its resources name it, and the digests in ``pins.csv`` that say which content is meant.

An image is pinned in every manifest and chart value that names it, a chart of a registry by its reference. Helm checks
no hash of a chart from a repository of files, and Pulumi none of a plugin that it installs by itself.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from facts.catalog.plugins import plugin_version
from facts.catalog.tables import parsed
from facts.concepts.unknown import UNKNOWN

PINS: Final = Path(__file__).with_suffix(".csv")

Kind: TypeAlias = Literal["image", "chart", "plugin", "add-on", "packages"]
PINNED_KINDS: Final = ("image", "chart", "plugin")
"""Those that have digests; the cloud chooses the content of its add-ons, and a key signs packages."""

Digests: TypeAlias = Mapping[tuple[str, str], str]
"""(kind, name) → ``sha256:<64 hexadecimal digits>``."""

OCI: Final = "oci://"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
PLATFORM: Final = f"{platform.system().lower()}-{_ARCHITECTURES.get(platform.machine(), platform.machine())}"
"""Of this machine, as archives of plugins are called."""
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_IN_TEXT: Final = re.compile(
    r"""^([ \t-]*image:[ \t]*["']?)([^\s"'@]*[/:][^\s"'@]*)(?:@(\S+?))?(["']?)[ \t]*$""", re.MULTILINE
)
"""The line of a manifest that is a text, such as a file of a ConfigMap: its parts are start, name, digest, end."""
_COMPOSED: Final = ("name", "repository")
"""Keys of an image's name in charts' values, beside its ``tag``."""


@dataclass(frozen=True, order=True)
class Installed:
    """``name``: of an image with its tag, of a chart with its repository and version, of a plugin with its version and
    the platform of its archive (``aws 7.51.1 linux-amd64``).

    ``digest``: ``""`` without one; ``note``: what else holds it, or who names it.
    """

    kind: Kind
    name: str
    digest: str = ""
    note: str = ""


class PinsError(ValueError):
    """A line of ``pins.csv`` that says nothing; the message names it."""


def read(text: str) -> dict[tuple[str, str], str]:
    """The digests of a file. Raises PinsError."""
    digests: dict[tuple[str, str], str] = {}
    for row in parsed(text):
        key = (row["kind"], row["name"])
        if row["kind"] not in PINNED_KINDS:
            raise PinsError(f"{PINS.name}: {row['name']}: kind '{row['kind']}': write {', '.join(PINNED_KINDS)}")
        if not _DIGEST.fullmatch(row["digest"]):
            text = f"'{row['digest']}' is no digest: write sha256: and 64 hexadecimal digits, or delete the row"
            raise PinsError(f"{PINS.name}: {row['name']}: {text}")
        if digests.setdefault(key, row["digest"]) != row["digest"]:
            raise PinsError(f"{PINS.name}: {row['name']}: two rows, {digests[key]} and {row['digest']}: delete one")
    return digests


@cache
def digests() -> Digests:
    """Those of ``pins.csv``."""
    return read(PINS.read_text(encoding="utf-8"))


def pinned(inputs: Any, known: Digests | None = None) -> Any:
    """A manifest, or a chart's values, whose images have their digests; what is not known yet stays as it is."""
    known = digests() if known is None else known
    if not known:
        return inputs
    if isinstance(inputs, Mapping):
        changed = {key: pinned(value, known) for key, value in inputs.items()}
        if (image := _image(inputs)) and (digest := known.get(("image", image.name))):
            changed["image"] = _with_digest(inputs["image"], digest)
        return changed
    if isinstance(inputs, str) and "image:" in inputs:
        return _IN_TEXT.sub(lambda line: _pinned_line(line, known), inputs)
    return [pinned(each, known) for each in inputs] if isinstance(inputs, (list, tuple)) else inputs


def pinned_chart(reference: str, version: str, known: Digests | None = None) -> str:
    """A chart's reference with its digest, where a registry has it: Helm refuses any other content.

    https://github.com/helm/helm/blob/v3.20.2/pkg/registry/client.go (``ValidateReference``)
    """
    digest = (digests() if known is None else known).get(("chart", f"{reference}:{version}"), "")
    return f"{reference}@{digest}" if digest and reference.startswith(OCI) else reference


def installed(resources: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Installed]:
    """What resources (type token, inputs) install, each once. Charts' own images are not among them."""
    return sorted({each for token, inputs in resources for each in _of_resource(token, inputs)})


def images(part: Any) -> Iterator[Installed]:
    """The images that a manifest, or a chart's values, name."""
    if isinstance(part, Mapping):
        if (image := _image(part)) is not None:
            yield image
        for value in part.values():
            yield from images(value)
    elif isinstance(part, (list, tuple)):
        for each in part:
            yield from images(each)
    elif isinstance(part, str) and "image:" in part:
        for _, name, digest, _ in _IN_TEXT.findall(part):
            yield Installed("image", name, digest)


def with_digests(rows: Iterable[Installed], known: Digests | None = None) -> list[Installed]:
    """The rows with the digests that are known of them."""
    known = digests() if known is None else known
    return [replace(row, digest=row.digest or known.get((row.kind, row.name), "")) for row in rows]


def _of_resource(token: str, inputs: Mapping[str, Any]) -> Iterator[Installed]:
    package = token.partition(":")[2] and token.removeprefix("pulumi:providers:").partition(":")[0]
    if package and package not in ("pulumi", "gpucluster") and (version := _plugin(package)):
        yield Installed("plugin", f"{package} {version} {PLATFORM}")
    if token.startswith("kubernetes:helm.sh/"):
        yield _chart(inputs)
    if token.startswith("kubernetes:"):
        yield from images(inputs)
    if isinstance(name := inputs.get("addonName"), str):
        version = inputs.get("addonVersion")
        known = isinstance(version, str)
        note = "the cloud's" if known else "the cloud's, which chooses the version"
        yield Installed("add-on", f"{name} {version}" if known else name, note=note)
    yield from _packages(inputs)


def _plugin(package: str) -> str:
    try:
        return plugin_version(package)
    except KeyError:
        return ""


def _chart(inputs: Mapping[str, Any]) -> Installed:
    reference, _, digest = str(inputs.get("chart")).partition("@")
    options = inputs.get("repositoryOpts")
    repository = options.get("repo") if isinstance(options, Mapping) else None
    whole = f"{str(repository).rstrip('/')}/{reference}" if repository and OCI not in reference else reference
    return Installed("chart", f"{whole}:{inputs.get('version')}", digest)


def _packages(part: Any) -> Iterator[Installed]:
    """Repositories of packages, which a key signs, at any depth."""
    if isinstance(part, Mapping):
        if isinstance(fingerprint := part.get("keyFingerprint"), str):
            yield Installed("packages", str(part.get("url")), note=f"signed by {fingerprint}")
        for value in part.values():
            yield from _packages(value)
    elif isinstance(part, (list, tuple)):
        for each in part:
            yield from _packages(each)


def _image(part: Mapping[str, Any]) -> Installed | None:
    """The image of a container, or of a mapping in a chart's values that has one."""
    image = part.get("image")
    if image is UNKNOWN:
        return Installed("image", "", note=f"container {part.get('name')}: known after the update")
    if isinstance(image, Mapping):
        image = _composed(image)
    # A container has a name; elsewhere the word may stand for another thing, such as a family of node images.
    if not isinstance(image, str) or not ("name" in part or re.search("[/:]", image)):
        return None
    name, _, digest = image.partition("@")
    never = part.get("imagePullPolicy") == "Never"
    return Installed("image", name, digest, "part of the node's own image" if never else "")


def _composed(image: Mapping[str, Any]) -> str | None:
    name = next((image[key] for key in _COMPOSED if isinstance(image.get(key), str)), None)
    registry, tag, digest = (image.get(key) for key in ("registry", "tag", "digest"))
    if name is None or not isinstance(tag, str):
        return None
    at = f"@{digest}" if isinstance(digest, str) and digest else ""
    return f"{registry}/{name}:{tag}{at}" if isinstance(registry, str) and registry else f"{name}:{tag}{at}"


def _pinned_line(line: re.Match[str], known: Digests) -> str:
    start, name, digest, end = line.groups()
    digest = digest or known.get(("image", name), "")
    return f"{start}{name}{'@' if digest else ''}{digest}{end}"


def _with_digest(image: Any, digest: str) -> Any:
    if isinstance(image, str):
        return image if "@" in image else f"{image}@{digest}"
    composed = cast("Mapping[str, Any]", image)
    # A chart writes `name:tag`, whatever the tag is.
    return dict(composed) if "@" in composed["tag"] else {**composed, "tag": f"{composed['tag']}@{digest}"}
