"""The interface of every simulated provider, behind the engine's gRPC protocol.

Property maps are plain Python: dict, list, str, float/int, bool, None, plus ``concepts.unknown.UNKNOWN`` (a value
that the engine learns only at update). Secrets are unwrapped before a provider sees them and wrapped again on the way
out where the input was secret. The gRPC side is in ``server.py``. The last functions look
into maps whose values may not be known yet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from facts.concepts import unknown
from facts.concepts.pool import Pool
from facts.concepts.unknown import UNKNOWN
from rehearsal.simulation import Night, UserInfo

Properties = dict[str, Any]


@dataclass(frozen=True)
class CheckFailure:
    """A refused input: ``property`` is its path (``nodeConfig.machineType``), ``reason`` a sentence."""

    property: str
    reason: str


@dataclass(frozen=True)
class Diff:
    """What changed: property paths, and which of them cannot be updated in place."""

    changes: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    delete_before_replace: bool = False


@dataclass(frozen=True)
class Created:
    """A created or read resource: its id and its full state. ``id == ""`` from ``read`` means it is gone."""

    id: str
    state: Properties
    inputs: Properties | None = None


@dataclass(frozen=True)
class Previous:
    """A resource as the engine knows it: its last checked inputs and its full state."""

    inputs: Properties
    state: Properties


class ProviderError(Exception):
    """An error for the user, printed by the engine as it is. ``partial`` keeps a half-made resource in the state."""

    def __init__(self, message: str, partial: Created | None = None) -> None:
        super().__init__(message)
        self.partial = partial


@dataclass(frozen=True)
class CallContext:
    """One call's context."""

    urn: str
    type: str
    name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    preview: bool = False
    random_seed: bytes = b""
    """What auto-names are made from; only ``check`` has one, another for each operation unless it follows a plan."""


class Provider(ABC):
    """One provider plugin. All methods may raise ``ProviderError``; calls come from several threads."""

    name: str
    version: str
    secret_outputs: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Resource type → output properties that are always secret."""

    def instance(self) -> Provider:
        """The provider that one more plugin process talks to; override it when instances differ by configuration."""
        return self

    def check_config(self, news: Properties) -> list[CheckFailure]:
        """Validate the provider's configuration; values may be ``UNKNOWN``."""
        return []

    def diff_config(self, olds: Properties, news: Properties) -> Diff:
        """What a changed configuration means: ``replaces`` here replaces every resource of this provider."""
        return Diff(changes=tuple(key for key in sorted({*olds, *news}) if olds.get(key) != news.get(key)))

    def configure(self, config: Properties) -> None:  # noqa: B027 - optional
        """Take the provider's configuration, as strings or parsed JSON."""

    def cancel(self) -> None:  # noqa: B027 - optional
        """Stop waiting: the user interrupted the engine, which still waits for the calls under way."""

    def close(self) -> None:  # noqa: B027 - optional
        """End what the provider runs in the background; nothing is called after it."""

    def knows(self, type: str) -> bool:
        """Whether this provider simulates the resource type, a token."""
        return True

    def inventory(self) -> list[str]:
        """Everything that exists in the simulated account, as text; empty without an account."""
        return []

    def found(self, request: CallContext, inputs: Properties) -> Created:
        """Create what was there before the stack."""
        return self.create(request, inputs, 0)

    def reserve(self, pools: Sequence[Pool]) -> None:  # noqa: B027 - optional
        """Create the reservations that ``pools`` name, if this provider records reservations."""

    def exhaust(self, pools: Collection[str]) -> None:  # noqa: B027 - optional
        """Exhaust the capacity of exactly these pools, if machines are this provider's and not the fleet's."""

    def reclaim(self, node: str) -> bool:
        """Interrupt the machine of that node, with notice; ``False`` if the machine is the fleet's."""
        return False

    def maintain(self) -> Night | None:
        """The cloud's weekly maintenance begins; ``None`` if this provider's cloud has none."""
        return None

    def problems(self) -> Iterable[str] | None:
        """What will not work in the account although the cloud accepted each request, as sentences.

        ``None`` if this provider does not evaluate it.
        """
        return None

    def principals(self) -> dict[str, UserInfo]:
        """The principals with access to the cluster, as the cloud's API names them; empty without an account."""
        return {}

    @abstractmethod
    def check(self, request: CallContext, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        """Validate inputs and fill in defaults; unknown resource types are an error that names them."""

    @abstractmethod
    def diff(self, request: CallContext, id: str, before: Previous, news: Properties, ignored: tuple[str, ...]) -> Diff:
        """Compare the checked inputs ``news`` with the last ones; the server drops what ``ignored`` covers."""

    @abstractmethod
    def create(self, request: CallContext, inputs: Properties, timeout: float) -> Created:
        """Make the resource; in a preview only say what it would be, with an empty id. ``timeout`` in seconds, or 0."""

    @abstractmethod
    def read(self, request: CallContext, id: str, inputs: Properties, state: Properties) -> Created:
        """The resource as it is now: to refresh, or to import (then ``inputs`` and ``state`` are empty)."""

    @abstractmethod
    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        """Change the resource in place and return its full state; in a preview only say what it would be."""

    @abstractmethod
    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        """Delete the resource and return when it is gone; one that is gone already is no error."""

    def invoke(self, token: str, args: Properties) -> Properties:
        """A data source or function; an unknown token is an error that names it."""
        raise ProviderError(f"{self.name}: function {token} is not simulated")


def at(inputs: Any, path: str) -> Any:
    """The value at a dotted path, ``None`` if a part is absent, ``UNKNOWN`` if a part is not known yet."""
    return unknown.at(inputs, *path.split("."))


def has_unknown(value: Any) -> bool:
    """Whether ``value`` is, or contains, a value that only the update knows."""
    if isinstance(value, dict):
        return any(map(has_unknown, value.values()))
    if isinstance(value, list):
        return any(map(has_unknown, value))
    return value is UNKNOWN


def without_none(inputs: Properties) -> Properties:
    """``inputs`` without the keys that the program left open."""
    return {key: value for key, value in inputs.items() if value is not None}


def merged(base: Any, over: Any) -> Any:
    """As Helm merges values: ``over`` over ``base``, maps key by key, everything else whole.

    https://helm.sh/docs/chart_template_guide/values_files/
    """
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        return {**base, **{key: merged(base.get(key), value) for key, value in over.items()}}
    return over


def split_id(id: str) -> tuple[str | None, str]:
    """Namespace and name of a resource id."""
    namespace, _, name = id.rpartition("/")
    return namespace or None, name
