"""What a cloud brings to its stand-in: its rows, its functions, its words, and where its state is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

from typing_extensions import override

from facts.catalog import of
from facts.concepts.pool import Pool
from rehearsal.providers import check
from rehearsal.providers.allowance import Allowance
from rehearsal.providers.base import CallContext, CheckFailure, Properties, Provider, ProviderError
from rehearsal.providers.resource import CloudT, Made, Refers, SimulatedResource
from rehearsal.providers.rules import ServerRule
from rehearsal.providers.store import Record, Store
from rehearsal.simulation import Fleet, UserInfo
from schemas import Schema, plugin_version, schema

if TYPE_CHECKING:
    from facts.catalog import CloudCatalog


Doing = Literal["create", "update", "delete"]


def _not_kept(account: Any, pools: Collection[Any]) -> None:
    """Nothing."""


class Vendor(Provider, Generic[CloudT]):
    """The part of a stand-in that differs from cloud to cloud; ``standin.StandIn`` is the rest."""

    cloud_name: ClassVar[str]
    rows: ClassVar[Mapping[str, SimulatedResource[Any]]]
    everywhere: ClassVar[Sequence[ServerRule[Any]]] = ()
    """Rules of the cloud about resources of all types."""
    functions: ClassVar[Mapping[str, Callable[[Any, Properties], Properties]]]
    settings: ClassVar[tuple[str, ...]]
    """The provider's settings that the resources use."""
    words: ClassVar[check.Words]
    answers: ClassVar[tuple[str, ...]] = ()
    """Outputs of every resource (``answered``)."""
    stable: ClassVar[Collection[str] | None] = None
    """Outputs that the preview of an update takes from before; ``None``: all that the row does not renew."""
    make_cloud: ClassVar[Callable[..., Any]]
    let_in: ClassVar[Callable[[Any], dict[str, UserInfo]]]
    """An account → whom it lets into its cluster besides the maker, by the names that a stack file gives them."""
    set_aside: ClassVar[Callable[[Any, Sequence[Pool]], None]] = _not_kept
    """An account, pools: have the reservations that they name, where there is an account of reservations."""
    use_up: ClassVar[Callable[[Any, Collection[str]], None]] = _not_kept
    """An account, pools: have no machine for these, and for others again, where machines are not the fleet's."""
    ids_are_paths: ClassVar[bool] = True
    """Whether what is below a resource's id goes with it."""

    def __init__(self, directory: Path, fleet: Fleet | None, catalog: CloudCatalog | None = None) -> None:
        self.version = plugin_version(self.name)
        self._cloud: CloudT = self.new_cloud(directory, fleet, lambda: catalog or of(self.cloud_name))

    @override
    def people(self) -> dict[str, UserInfo]:
        return type(self).let_in(self._cloud)

    def allow(self, allowance: Allowance) -> None:
        """From now on the account has, and whoever runs the program may do, no more than this."""
        self._cloud = replace(self._cloud, allowance=allowance)

    @override
    def reserve(self, pools: Sequence[Pool]) -> None:
        type(self).set_aside(self._cloud, pools)

    @override
    def run_dry(self, pools: Collection[str]) -> None:
        type(self).use_up(self._cloud, pools)

    @cached_property
    def schema(self) -> Schema:
        """What the provider takes and answers."""
        return schema(self.cloud_name)

    def new_cloud(self, directory: Path, fleet: Fleet | None, catalogue: Callable[[], CloudCatalog]) -> CloudT:
        """The account that the resources are in."""
        made: CloudT = type(self).make_cloud(Store(directory, self.name), fleet, catalogue)
        return made

    @abstractmethod
    def auto_name(self, row: SimulatedResource[CloudT], request: CallContext, inputs: Properties) -> str:
        """The name that the provider gives a resource that the program does not name."""

    @abstractmethod
    def completed(self, row: SimulatedResource[CloudT], inputs: Properties) -> Properties:
        """``inputs`` with what every type takes from the provider's configuration."""

    @abstractmethod
    def deletes_first(
        self, row: SimulatedResource[CloudT], request: CallContext, old: Properties, new: Properties
    ) -> bool:
        """Whether a replacement cannot exist beside what it replaces."""

    @abstractmethod
    def place(self, row: SimulatedResource[CloudT], inputs: Properties) -> Mapping[str, Any]:
        """What the places in an id's template are for ``inputs``."""

    @abstractmethod
    def target(self, path: str, refers: Refers, value: str, inputs: Properties) -> str:
        """The id of the resource that ``value``, which is at ``path`` in ``inputs``, names."""

    @abstractmethod
    def make(self, row: SimulatedResource[CloudT], made: Made[CloudT]) -> Made[CloudT]:
        """Make a resource; it, as it is called from now on. Raises the cloud's error if one of that id exists."""

    @abstractmethod
    def right(self, row: SimulatedResource[CloudT], doing: Doing) -> str:
        """The right that the cloud wants of whoever does that to such a resource; empty if it is not known."""

    @abstractmethod
    def forbidden(self, row: SimulatedResource[CloudT], right: str, id: str) -> ProviderError:
        """The cloud's error about a right that is missing, for a resource."""

    @abstractmethod
    def bad_request(self, row: SimulatedResource[CloudT], message: str) -> ProviderError:
        """The cloud's error about a request that breaks one of its rules, as a rule puts it."""

    @abstractmethod
    def missing(self, refers: Refers, value: str, id: str) -> ProviderError:
        """The cloud's error about an input whose ``value`` names the resource at ``id``, which does not exist."""

    @abstractmethod
    def gone(self, row: SimulatedResource[CloudT], id: str) -> ProviderError:
        """The cloud's error about a resource that should be there."""

    @abstractmethod
    def in_use(self, row: SimulatedResource[CloudT], id: str, by: str) -> ProviderError:
        """The cloud's error about a resource that cannot go while another uses it."""

    def answered(self, row: SimulatedResource[CloudT], inputs: Properties) -> Properties:
        """The outputs called ``answers``."""
        return {}

    def replacing(self, row: SimulatedResource[CloudT]) -> tuple[str, ...]:
        """Further inputs of a resource type that cannot be updated in place, as they say where it is."""
        return ()

    def require_unchanged(
        self, row: SimulatedResource[CloudT], old: Properties, new: Properties, *, inside: bool
    ) -> None:
        """Raise the cloud's error if an update would change what it refuses to change; ``inside`` another resource?"""

    def failures(self, row: SimulatedResource[CloudT], inputs: Properties) -> list[CheckFailure]:
        """Everything wrong with ``inputs`` that needs no server to tell."""
        missing = [CheckFailure(key, "is required") for key in row.required if inputs.get(key) is None]
        return [*missing, *check.failures(self.schema, row.token, inputs, self.words)]

    def changed(self) -> None:
        """Called after a resource came or changed."""

    def unfinished(self, what: str, id: str, doing: str) -> str:
        """How the provider begins its error about a resource that was made or changed, and did not start."""
        return f"error {doing} {what} {id}"

    def retried(self, attempt: Callable[[], None]) -> None:
        """Do what fails while something else is under way, as patiently as the provider."""
        attempt()

    # Where the cloud's state is, if not in the records alone.

    def change(self, row: SimulatedResource[CloudT], made: Made[CloudT]) -> Made[CloudT]:
        """Change a resource in place; it, as it is from now on."""
        return made

    def remove(self, row: SimulatedResource[CloudT], record: Record) -> None:
        """Remove a resource; one that is gone already is fine."""

    def now(self, row: SimulatedResource[CloudT], record: Record) -> Record | None:
        """A recorded resource as it is now; ``None`` if it is gone."""
        return record
