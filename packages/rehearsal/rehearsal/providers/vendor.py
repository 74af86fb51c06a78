"""What each cloud defines for its simulated provider: rows, functions, messages, and where its state is."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal

from typing_extensions import override

from facts.catalog import of
from facts.catalog.plugins import plugin_version
from rehearsal.providers import check
from rehearsal.providers.account_limits import AccountLimits
from rehearsal.providers.base import CallContext, CheckFailure, Properties, Provider, ProviderError
from rehearsal.providers.cloud import Record, Store
from rehearsal.providers.pool_order import PoolOrder
from rehearsal.providers.resource import CloudT, Pending, Reference, SimulatedResource
from rehearsal.providers.rules import ServerRule
from rehearsal.simulation import Fleet
from schemas import Schema, schema

if TYPE_CHECKING:
    from facts.catalog import CloudCatalog


Action = Literal["create", "update", "delete"]

ZEROS: Final = ("", False, 0, 0.0)
"""What a provider made of Terraform's SDK cannot tell from an input left open; other defaults were filled in before."""


@dataclass(frozen=True)
class CloudErrors:
    """A cloud's errors, in its own words. Each function gets the account first, and then the row, or the reference.

    Args:
        forbidden: permission, id: a missing permission on a resource.
        bad_request: message: a request breaks one of the cloud's rules, as the rule puts it.
        missing_reference: value, id: an input whose value names the resource at the id, which does not exist.
        missing_resource: id: a resource does not exist.
        in_use: id, by: a resource cannot be deleted while another uses it.
        exists: id: a resource cannot be created, because there is one with its id.
    """

    forbidden: Callable[[Any, Any, str, str], ProviderError]
    bad_request: Callable[[Any, Any, str], ProviderError]
    missing_reference: Callable[[Any, Reference, str, str], ProviderError]
    missing_resource: Callable[[Any, Any, str], ProviderError]
    in_use: Callable[[Any, Any, str, str], ProviderError]
    exists: Callable[[Any, Any, str], ProviderError] = lambda cloud, row, id: ProviderError(f"{id} exists")


def auto_named(form: re.Pattern[str], stem: str, name: str) -> bool:
    """Whether the provider generated ``name``, so that a replacement may exist beside its predecessor."""
    match = form.fullmatch(name)
    return match is not None and stem.startswith(match[1])


class Vendor(Provider, Generic[CloudT]):
    """The part of a provider that differs from cloud to cloud; ``SimulatedProvider`` is the rest."""

    cloud_name: ClassVar[str]
    folder: ClassVar[str] = "cloud"
    """Where the provider writes, in the run's directory."""
    rows: ClassVar[Mapping[str, SimulatedResource[Any]]]
    rules_for_all_types: ClassVar[Sequence[ServerRule[Any]]] = ()
    """Rules of the cloud about resources of all types."""
    functions: ClassVar[Mapping[str, Callable[[Any, Properties], Properties]]]
    settings: ClassVar[tuple[str, ...]]
    """The provider's settings that the resources use."""
    words: ClassVar[check.InputMessages]
    cloud_errors: ClassVar[CloudErrors]
    common_output_names: ClassVar[tuple[str, ...]] = ()
    """Names of the outputs of every resource (``common_outputs``)."""
    stable: ClassVar[Collection[str] | None] = None
    """Outputs that the preview of an update takes from before; ``None``: all that the row does not renew."""
    make_cloud: ClassVar[Callable[..., Any]]
    pool_order: ClassVar[Callable[[Any], PoolOrder[Any]] | None] = None
    """What watches the cluster for the order of its pools, on clouds where the cluster says it."""
    absent: ClassVar[tuple[Any, ...]] = ()
    """Scalars that mean the same as an input left open."""
    ids_are_paths: ClassVar[bool] = True
    """Whether deleting a resource deletes everything below its id."""

    def __init__(self, directory: Path, fleet: Fleet | None, catalog: CloudCatalog | None = None) -> None:
        self.version = plugin_version(self.name)
        self._cloud: CloudT = self.new_cloud(directory, fleet, lambda: catalog or of(self.cloud_name))
        order = type(self).pool_order
        self._order = None if order is None else order(self._cloud)

    def limit(self, account_limits: AccountLimits) -> None:
        """Limit the account's quotas, reservations, keys and permissions from now on."""
        self._cloud = replace(self._cloud, account_limits=account_limits)

    def by_itself(self) -> None:
        """Keep the records in this process alone, wait for nobody, and run nothing in the background."""
        self._cloud = replace(self._cloud, store=Store())
        self.close()

    def settle(self) -> None:
        """Do once what else is done in the background: let the cluster's autoscaler decide about the groups."""

    @cached_property
    def schema(self) -> Schema:
        """What the provider takes and answers."""
        return schema(self.cloud_name)

    def new_cloud(self, directory: Path, fleet: Fleet | None, catalogue: Callable[[], CloudCatalog]) -> CloudT:
        """The account that the resources are in."""
        return type(self).make_cloud(Store(directory, self.name), fleet, catalogue)

    @abstractmethod
    def auto_name(self, row: SimulatedResource[CloudT], request: CallContext, inputs: Properties) -> str:
        """The name that the provider gives a resource that the program does not name."""

    @abstractmethod
    def with_provider_defaults(self, row: SimulatedResource[CloudT], inputs: Properties) -> Properties:
        """``inputs`` with the defaults that every type takes from the provider's configuration."""

    @abstractmethod
    def deletes_first(
        self, row: SimulatedResource[CloudT], request: CallContext, old: Properties, new: Properties
    ) -> bool:
        """Whether a replacement cannot exist beside what it replaces."""

    @abstractmethod
    def place(self, row: SimulatedResource[CloudT], inputs: Properties) -> Mapping[str, Any]:
        """The values of the fields in an id's template for ``inputs``."""

    @abstractmethod
    def target(self, path: str, references: Reference, value: str, inputs: Properties) -> str:
        """The id of the resource that ``value``, which is at ``path`` in ``inputs``, names."""

    def make(self, row: SimulatedResource[CloudT], pending: Pending[CloudT]) -> Pending[CloudT]:
        """Create a resource and return it with its final id. Raises the cloud's error if that id exists."""
        if self._cloud.find(pending.id, row.token) is not None:
            raise self.cloud_errors.exists(self._cloud, row, pending.id)
        return pending

    @abstractmethod
    def permission(self, row: SimulatedResource[CloudT], action: Action) -> str:
        """The permission that the action on such a resource needs; empty if it is not known."""

    def common_outputs(self, row: SimulatedResource[CloudT], inputs: Properties) -> Properties:
        """The outputs in ``common_output_names``."""
        return {}

    def require_unchanged(
        self, row: SimulatedResource[CloudT], old: Properties, new: Properties, *, nested: bool
    ) -> None:
        """Raise the cloud's error for a change of an immutable input; ``nested``: inside another resource."""

    def failures(self, row: SimulatedResource[CloudT], inputs: Properties) -> list[CheckFailure]:
        """Everything wrong with ``inputs`` that the provider finds without the server."""
        missing = [CheckFailure(key, "is required") for key in row.required if inputs.get(key) is None]
        return [*missing, *check.failures(self.schema, row.token, inputs, self.words)]

    def changed(self, row: SimulatedResource[CloudT]) -> None:
        """Called after a resource of this type was created or changed."""
        if self._order is not None:
            self._order.watch()

    @override
    def close(self) -> None:
        if self._order is not None:
            self._order.close()

    def failure_prefix(self, what: str, id: str, action: str) -> str:
        """The beginning of the provider's error about a resource that was created or changed, but did not start."""
        return f"error {action} {what} {id}"

    def with_retries(self, attempt: Callable[[], None]) -> None:
        """Run ``attempt``; retry as long as the real provider does while another operation blocks it."""
        attempt()

    # For clouds that hold state outside the records.

    def change(self, row: SimulatedResource[CloudT], pending: Pending[CloudT]) -> Pending[CloudT]:
        """Change a resource in place and return it."""
        return pending

    def remove(self, row: SimulatedResource[CloudT], record: Record) -> None:
        """Delete a resource; one that is already gone is no error."""

    def current(self, row: SimulatedResource[CloudT], record: Record) -> Record | None:
        """A recorded resource as it is now; ``None`` if it is gone."""
        return record
