"""What a subscription of Azure is asked before ``pulumi up``. Every request reads.

Rights: https://learn.microsoft.com/azure/role-based-access-control/role-assignments-list-rest.
The filter ``assignedTo`` finds roles of groups, too. A role with a condition, or one that has to be activated, counts
as missing. Deny assignments are not read.
"""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from account.asking import DENIED, AccountError, AccountFacts, AccountQuestion, of_own_clusters
from account.clouds.aks import rights
from account.rows import ShownRow
from account.shared_rows import (
    machine_rows,
    machine_types,
    overlap_row,
    quota_row,
    quota_title,
    reservations,
    rights_row,
)
from components.settings import Settings
from components.settings.limits.aks.pools import RESERVATION
from components.settings.quotas import quotas
from facts.catalog.aks.resource_ids import EXISTING_NETWORK, parse_key
from facts.catalog.model import Quota
from facts.concepts.counts import counted
from facts.concepts.pool import Pool

_MANAGER: Final = "https://management.azure.com/.default"
_DENIED: Final = ("AuthorizationFailed", "LinkedAuthorizationFailed")
_VAULT_API: Final = "2023-07-01"
"""https://learn.microsoft.com/azure/templates/microsoft.keyvault/vaults/keys"""
_QUOTA_NAME: Final = re.compile(r".*\((?P<name>\w+)\)")
_ADDRESSES: Final = "StandardSkuPublicIpAddresses"


class AzureSubscription:
    """One subscription, in the stack's region. ``facts`` are filled while questions are answered."""

    def __init__(self, settings: Settings, credential: Any = None, **client_options: Any) -> None:
        """``credential``: as azure-identity's; default: that of the user's environment. ``client_options``: of the SDK.

        Raises AccountError: the SDK is not installed, or nobody is logged in.
        """
        try:
            from azure.core.exceptions import AzureError
            from azure.identity import DefaultAzureCredential
        except ImportError as error:
            raise AccountError("azure-identity is not installed: run `make setup-account`") from error
        # It would print each way to log in that it has tried; the error says what to do.
        logging.getLogger("azure.identity").setLevel(logging.ERROR)
        self.facts = AccountFacts()
        self._settings, self.id = settings, settings.project
        self._credential, self._options = credential or DefaultAzureCredential(), client_options
        try:
            claims = _claims(self._credential.get_token(_MANAGER).token)
        except AzureError as error:
            raise AccountError(f"Azure does not know who you are: {_first_line(error)}. Log in: `az login`") from error
        self._principal = str(claims.get("oid") or "")
        self._who = str(claims.get("upn") or claims.get("unique_name") or claims.get("appid") or self._principal)
        self._clients: dict[tuple[Any, str], Any] = {}
        self._usages: dict[str, dict[str, tuple[float, float]]] = {}

    @property
    def caller(self) -> str:
        """The subscription and the principal."""
        return f"subscription {self.id}, as {self._who}"

    def unanswered(self, error: Exception) -> str | None:
        """Why Azure has not answered; ``None`` for what is no error of its SDK."""
        from azure.core.exceptions import AzureError, HttpResponseError

        if isinstance(error, HttpResponseError):
            code = str(getattr(error.error, "code", None) or error.status_code)
            # An answer to HEAD has no code of Azure's.
            denied = code in (*_DENIED, str(int(HTTPStatus.FORBIDDEN)))
            return DENIED if denied else f"Azure answers {code}: {_first_line(error)}"
        return _first_line(error) if isinstance(error, AzureError) else None

    def documents(self) -> Sequence[Mapping[str, Any]]:
        """The deployer's rights as a role definition."""
        return [rights.role(self._settings)]

    def how_to_grant(self, files: Sequence[str]) -> Iterator[str]:
        """The commands that give a deployer the rights in these files."""
        for file, document in zip(files, self.documents(), strict=True):
            yield f"az role definition create --role-definition @{file}"
            scope = rights.scope(self._settings)
            yield f'az role assignment create --role "{document["Name"]}" --assignee WHO --scope {scope}'

    def questions(self) -> Iterator[AccountQuestion]:
        """All of them."""
        settings = self._settings
        yield _question("providers", "resource providers", "*/register/action", self._providers)
        yield _question(
            "machines", "the machines are offered in the zones", "Microsoft.Compute/skus/read", self._machines
        )
        for quota in quotas(settings):
            yield _question(
                f"quota:{quota.name}",
                quota_title(quota),
                "Microsoft.Compute/locations/usages/read",
                lambda quota=quota: self._quota(quota),
            )
        yield _question(
            "names", "resource groups of the name", "Microsoft.Resources/subscriptions/resourceGroups/read", self._names
        )
        for reservation in reservations(settings):
            yield _question(
                f"reservation:{reservation}",
                f"reservation {reservation} is the pools'",
                "Microsoft.Compute/capacityReservationGroups/capacityReservations/read",
                lambda id=reservation: self._reservation(id),
            )
        ask = self._network if settings.network.existing is None else self._existing
        yield _question("network", "addresses of the network", "Microsoft.Network/virtualNetworks/read", ask)
        if settings.security.kms_key is not None:
            yield _question("key", "key of kmsKey", "Microsoft.KeyVault/vaults/keys/read", self._key)
        if settings.security.disk_key is not None:
            yield _question("disk-key", "set of diskKey", "Microsoft.Compute/diskEncryptionSets/read", self._disk_key)
        yield _question("rights", "the deployer's rights", "Microsoft.Authorization/roleAssignments/read", self._rights)

    def _client(self, kind: Any, subscription: str = "") -> Any:
        wanted = (kind, subscription or self.id)
        if wanted not in self._clients:
            self._clients[wanted] = kind(self._credential, wanted[1], **self._options)
        return self._clients[wanted]

    @property
    def _resources(self) -> Any:
        from azure.mgmt.resource.resources import ResourceManagementClient

        return self._client(ResourceManagementClient)

    def _compute(self, subscription: str = "") -> Any:
        from azure.mgmt.compute import ComputeManagementClient

        return self._client(ComputeManagementClient, subscription)

    def _networks(self, subscription: str = "") -> Any:
        from azure.mgmt.network import NetworkManagementClient

        return self._client(NetworkManagementClient, subscription)

    def _providers(self) -> Iterator[ShownRow]:
        names = rights.namespaces(self._settings)
        states = {name: self._resources.providers.get(name).registration_state for name in names}
        off = [name for name, state in states.items() if state != "Registered"]
        row = {"id": "providers", "title": "resource providers are registered"}
        if off:
            remedy = "; ".join(f"az provider register --namespace {name} --wait" for name in off)
            detail = ", ".join(f"{name} is {states[name]}" for name in off)
            yield ShownRow(**row, result="failed", detail=detail, remedy=remedy)
        else:
            yield ShownRow(**row, result="shown", detail=", ".join(names))

    def _machines(self) -> Iterator[ShownRow]:
        region, wanted = self._settings.region, {type.lower(): type for type in machine_types(self._settings)}
        offered: dict[str, set[str]] = {type: set() for type in wanted.values()}
        notes: dict[str, str] = {}
        for sku in self._compute().resource_skus.list(filter=f"location eq '{region}'"):
            type = wanted.get(str(sku.name).lower())
            if type is not None and sku.resource_type == "virtualMachines":
                zones, reasons = _zones(sku, region)
                offered[type] |= zones
                if reasons:
                    notes[type] = ", ".join(sorted(reasons))
        yield from machine_rows(self._settings, offered, notes)

    def _quota(self, quota: Quota) -> Iterator[ShownRow]:
        match = _QUOTA_NAME.fullmatch(quota.name)
        name = match["name"] if match else quota.name
        kind = "network" if name == _ADDRESSES else "compute"
        if kind not in self._usages:
            listed = (self._networks().usages if kind == "network" else self._compute().usage).list(quota.place)
            self._usages[kind] = {
                str(each.name.value).lower(): (float(each.limit), float(each.current_value)) for each in listed
            }
        known = self._usages[kind].get(name.lower())
        if known is None:
            row = {"id": f"quota:{quota.name}", "title": quota_title(quota)}
            yield ShownRow(**row, result="not shown", detail=f"Azure lists no quota {name} in {quota.place}")
            return
        limit, in_use = known
        self.facts.quotas[quota.name] = int(limit)
        page = self._settings.known.account.quota_page
        yield quota_row(quota, limit, f"request {quota.needed} of {name} in {quota.place}: {page}", in_use)

    def _names(self) -> Iterator[ShownRow]:
        name = self._settings.cluster_name
        found = [each for each in (name, f"{name}-nodes") if self._resources.resource_groups.check_existence(each)]
        row = {"id": "names", "title": f"no other resource group is called {name} or {name}-nodes"}
        if found:
            detail = f"exist: {', '.join(found)}. If the stack is not deployed, its update fails at them"
            remedy = "write another `clusterName`, or delete them if nothing uses them: `az group delete --name NAME`"
            yield ShownRow(**row, result="warning", detail=detail, remedy=remedy)
        else:
            yield ShownRow(**row, result="shown", detail="none exists, so none is in the way")

    def _reservation(self, id: str) -> Iterator[ShownRow]:
        parts, pools = RESERVATION.fullmatch(id), [p for p in self._settings.gpu_pools if p.scaling.reservation == id]
        assert parts is not None  # settings refuse any other
        compute, group = self._compute(parts["subscription"]), id.rpartition("/")[2]
        found = [*compute.capacity_reservations.list_by_capacity_reservation_group(parts["name"], group)]
        total = sum(int(each.sku.capacity or 0) for each in found if each.sku.name in _types(pools))
        self.facts.reservations = {**(self.facts.reservations or {}), id: total}
        row = {"id": f"reservation:{id}", "title": f"reservation {group} has machines of {pools[0].name}"}
        problems = [*_unfit(found, pools, self._settings.region)]
        most = max((pool.scaling.reserved_nodes for pool in pools), default=0)
        if total < most:
            problems.append(f"it has {total} such machines, the stack says {most}")
        if problems:
            remedy = "write the reservation's own zone, type and number into the pool"
            yield ShownRow(**row, result="failed", detail="; ".join(problems), remedy=remedy)
        else:
            yield ShownRow(**row, result="shown", detail=counted(total, "machine"))

    def _network(self) -> Iterator[ShownRow]:
        own = self._settings.cluster_name.lower()
        others = (
            (str(each.name), prefix)
            for each in self._networks().virtual_networks.list_all()
            if each.id.lower().split("/")[4] != own
            for prefix in (each.address_space.address_prefixes if each.address_space else None) or ()
        )
        yield overlap_row(self._settings, others, "the subscription's networks")

    def _existing(self) -> Iterator[ShownRow]:
        from azure.core.exceptions import ResourceNotFoundError

        existing = self._settings.network.existing
        parts = EXISTING_NETWORK.fullmatch(existing.network) if existing else None
        assert existing is not None
        assert parts is not None  # settings refuse any other
        row = {"id": "network", "title": f"network {parts['name']} exists with its subnets"}
        remedy = "correct `network.existing`"
        try:
            network = self._networks(parts["subscription"]).virtual_networks.get(parts["group"], parts["name"])
        except ResourceNotFoundError:
            yield ShownRow(**row, result="failed", detail="it is not there", remedy=remedy)
            return
        subnets = {str(each.name).lower() for each in network.subnets or ()}
        absent = [each for each in existing.subnets if each.lower() not in subnets]
        problems = [f"it has no subnet {each}" for each in absent]
        if str(network.location).lower() != self._settings.region:
            problems.append(f"it is in {network.location}")
        if problems:
            yield ShownRow(**row, result="failed", detail="; ".join(problems), remedy=remedy)
        else:
            yield ShownRow(**row, result="shown", detail=counted(len(existing.subnets), "subnet"))

    def _key(self) -> Iterator[ShownRow]:
        text = str(self._settings.security.kms_key)
        key = parse_key(text)
        assert key is not None  # settings refuse any other
        attributes = (
            self._resources.resources.get_by_id(text, api_version=_VAULT_API).properties.get("attributes") or {}
        )
        row = {"id": "key", "title": f"key {key.name} of vault {key.vault} can be used"}
        if attributes.get("enabled"):
            self.facts.keys = [*(self.facts.keys or ()), text]
            yield ShownRow(**row, result="shown", detail="enabled")
        else:
            remedy = f"az keyvault key set-attributes --id {key.url} --enabled true"
            yield ShownRow(**row, result="failed", detail="this version is not enabled", remedy=remedy)

    def _disk_key(self) -> Iterator[ShownRow]:
        id = str(self._settings.security.disk_key)
        _, _, subscription, _, group, *_, name = id.split("/")
        found = self._compute(subscription).disk_encryption_sets.get(group, name)
        row = {"id": "disk-key", "title": f"disk encryption set {name} is in {self._settings.region}"}
        if str(found.location).lower() == self._settings.region:
            self.facts.keys = [*(self.facts.keys or ()), id]
            yield ShownRow(**row, result="shown", detail=f"{found.provisioning_state}")
        else:
            remedy = "write a set of the stack's region as `security.diskKey`"
            yield ShownRow(**row, result="failed", detail=f"it is in {found.location}", remedy=remedy)

    def _rights(self) -> Iterator[ShownRow]:
        from azure.mgmt.authorization import AuthorizationManagementClient

        row = {"id": "rights", "title": "the deployer has the rights that the stack needs"}
        if not self._principal:
            yield ShownRow(**row, result="not shown", detail="the login's token has no object id")
            return
        client, scope = self._client(AuthorizationManagementClient), rights.scope(self._settings)
        assigned = client.role_assignments.list_for_scope(
            scope, filter=f"atScope() and assignedTo('{self._principal}')"
        )
        ids = sorted({str(each.role_definition_id) for each in assigned if each.condition is None})
        granted = [
            (permission.actions or (), permission.not_actions or ())
            for id in ids
            for permission in client.role_definitions.get_by_id(id).permissions or ()
        ]
        needed = rights.TABLE.needed(self._settings)
        missing = [*rights.missing(needed, granted)]
        self.facts.missing_rights = missing
        checked = "actions, by the roles that you have on the subscription"
        yield rights_row(row, needed, missing, checked, "run the commands below")


def opened(settings: Settings) -> AzureSubscription:
    """The subscription of the stack, as the user of this shell. Raises AccountError."""
    of_own_clusters(settings)
    return AzureSubscription(settings)


def _question(id: str, title: str, right: str, ask: Callable[[], Iterator[ShownRow]]) -> AccountQuestion:
    return AccountQuestion(id=id, title=title, right=right, ask=ask)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")


def _claims(token: str) -> Mapping[str, Any]:
    """What an access token says of its owner, for messages and filters; who answers a request checks it.

    https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference
    """
    _, _, rest = token.partition(".")
    payload = rest.partition(".")[0]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}


def _zones(sku: Any, region: str) -> tuple[set[str], set[str]]:
    """The zones where the subscription can have the machine, as a stack file writes them, and why it has no others.

    https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-sku-not-available
    """
    numbers = {number for info in sku.location_info or () for number in info.zones or ()}
    restrictions = sku.restrictions or ()
    shut = {number for each in restrictions if each.type == "Zone" for number in each.restriction_info.zones or ()}
    reasons = {str(getattr(each.reason_code, "value", each.reason_code)) for each in restrictions}
    if any(each.type == "Location" for each in restrictions):
        return set(), reasons
    # A region without zones is written as its zone 0.
    return {f"{region}-{number}" for number in (numbers or {"0"}) - shut}, reasons


def _types(pools: Sequence[Pool]) -> set[str]:
    return {type for pool in pools for type in pool.nodes.machine_types}


def _unfit(reservations: Sequence[Any], pools: Sequence[Pool], region: str) -> Iterator[str]:
    """In what the reservations of a group do not suit the pools."""
    for pool in pools:
        own = [each for each in reservations if each.sku.name in pool.nodes.machine_types]
        if not own:
            others = ", ".join(sorted({str(each.sku.name) for each in reservations})) or "nothing"
            yield f"it has {others}, pool {pool.name} asks for {pool.nodes.machine_type}"
            continue
        zones = {f"{region}-{zone}" for each in own for zone in each.zones or ("0",)}
        if absent := [zone for zone in pool.nodes.zones if zone not in zones]:
            yield f"it is in {', '.join(sorted(zones))}, pool {pool.name} in {', '.join(absent)}"
