"""What a project of Google Cloud is asked before ``pulumi up``. Every request reads.

Rights: https://cloud.google.com/iam/docs/testing-permissions. Google answers for the caller, with what folders and the
organization grant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from account.asking import DENIED, AccountFacts, AccountQuestion
from account.clouds.gke import rest, rights
from account.clouds.gke.rest import COMPUTE, GoogleRefusal
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
from components.settings.quotas import quotas, used
from facts.catalog.gke.machines import is_custom
from facts.catalog.gke.networks import EXISTING_NETWORK
from facts.catalog.gke.rights import apis
from facts.catalog.limits import EVERYWHERE
from facts.catalog.model import Quota
from facts.concepts.counts import counted
from facts.concepts.pool import Pool
from facts.concepts.unknown import at

_NOT_FOUND: Final = 404
_FORBIDDEN: Final = 403
_APIS_AT_ONCE: Final = 30
"""https://cloud.google.com/service-usage/docs/reference/rest/v1/services/batchGet"""
_PERMISSIONS_AT_ONCE: Final = 100
_FAMILY: Final = re.compile(r"(?P<metric>[A-Z_]+) \((?P<family>[^)]+)\)")
_DIMENSIONS: Final = {"GPUS_PER_GPU_FAMILY": "gpu_family", "TPUS_PER_TPU_FAMILY": "tpu_family"}
_RESERVATION: Final = re.compile(r"projects/(?P<project>[^/]+)/reservations/(?P<name>[^/]+)(?:/.*)?")
_UNLIMITED: Final = float("inf")


class GoogleProject:
    """One project, in the stack's region. ``facts`` are filled while questions are answered."""

    def __init__(self, settings: Settings, session: Any = None) -> None:
        """``session``: as google-auth's; default: that of the user's environment.

        Raises AccountError: google-auth is not installed, or nobody is logged in.
        """
        self.facts = AccountFacts()
        self._settings, self.id = settings, settings.project
        self._session = session or rest.session(settings.project)
        self._compute = f"{COMPUTE}/projects/{settings.project}"
        self._listed: dict[str, dict[str, Any]] = {}

    @property
    def caller(self) -> str:
        """The project and the principal."""
        return f"project {self.id}, as {rest.caller(self._session)}"

    def unanswered(self, error: Exception) -> str | None:
        """Why Google has not answered; ``None`` for what is no error of its API or its login."""
        from google.auth.exceptions import GoogleAuthError
        from requests import RequestException

        if isinstance(error, GoogleRefusal):
            if error.off is not None:
                return f"{error.off} is not enabled: `gcloud services enable {error.off} --project {self.id}`"
            return DENIED if error.status == _FORBIDDEN else str(error)
        return str(error) if isinstance(error, (GoogleAuthError, RequestException)) else None

    def documents(self) -> Sequence[Mapping[str, Any]]:
        """The deployer's rights on the project as a custom role."""
        return [rights.custom_role(self._settings)]

    def how_to_grant(self, files: Sequence[str]) -> Iterator[str]:
        """The commands that give a deployer these rights, and those on objects in the cluster and of others."""
        role = f"gpucluster_{re.sub('[^a-z0-9_.]', '_', self._settings.stack.lower())}"
        member = "MEMBER"
        for file in files:
            yield f"gcloud iam roles create {role} --project {self.id} --file {file}"
        for each in (f"projects/{self.id}/roles/{role}", rights.CLUSTER_ROLE):
            yield f"gcloud projects add-iam-policy-binding {self.id} --condition None --member {member} --role {each}"
        for target in rights.targets(self._settings):
            yield target.grant.format(member=member, role=target.role)

    def questions(self) -> Iterator[AccountQuestion]:
        """All of them."""
        region, settings = self._settings.region, self._settings
        yield _question("billing", "the project pays for what it uses", "resourcemanager.projects.get", self._billing)
        enabled = apis(self.id, used(settings))
        for project, names in enabled.items():
            yield _question(
                f"apis:{project}",
                f"APIs of project {project}",
                "serviceusage.services.get",
                lambda project=project, names=names: self._apis(project, names),
            )
        yield _question("zones", f"the zones of {region}", "compute.zones.list", self._zones)
        yield _question(
            "machines", "the machines are offered in the zones", "compute.machineTypes.list", self._machines
        )
        if any(self._attached(pool) for pool in settings.gpu_pools):
            yield _question("gpus", "the GPUs are offered in the zones", "compute.acceleratorTypes.list", self._gpus)
        for quota in quotas(settings):
            where = "projects" if quota.place == EVERYWHERE else "regions"
            right = "serviceusage.quotas.get" if _FAMILY.fullmatch(quota.name) else f"compute.{where}.get"
            yield _question(f"quota:{quota.name}", quota_title(quota), right, lambda quota=quota: self._quota(quota))
        yield _question("names", "clusters of the name", "container.clusters.list", self._cluster_name)
        if settings.existing_cluster is None:
            yield _question("accounts", "service accounts of the name", "iam.serviceAccounts.list", self._account_name)
        for reservation in reservations(settings):
            yield _question(
                f"reservation:{reservation}",
                f"reservation {reservation} is the pools'",
                "compute.reservations.get",
                lambda name=reservation: self._reservation(name),
            )
        yield from self._network_questions()
        for key in rights.keys(settings):
            yield _question(
                f"key:{key}", f"key {key} can be used", "cloudkms.cryptoKeys.get", lambda key=key: self._key(key)
            )
        yield _question("rights", "the deployer's rights", "resourcemanager.projects.get", self._rights)
        for target in rights.targets(settings):
            yield _question(
                f"rights:{target.name}",
                f"the deployer's rights on {target.on} {target.name}",
                "to test permissions on it",
                lambda target=target: self._rights_on(target),
            )

    def _network_questions(self) -> Iterator[AccountQuestion]:
        if self._settings.existing_cluster is not None:
            return
        if self._settings.network.existing is not None:
            yield _question("network", "the existing network", "compute.subnetworks.get", self._existing)
            return
        yield _question("networks", "networks of the name", "compute.networks.list", self._network_name)
        yield _question("network", "addresses of the network", "compute.subnetworks.list", self._network)

    def _billing(self) -> Iterator[ShownRow]:
        answer = rest.ask(self._session, f"https://cloudbilling.googleapis.com/v1/projects/{self.id}/billingInfo")
        row = {"id": "billing", "title": f"project {self.id} has a billing account"}
        if answer.get("billingEnabled"):
            yield ShownRow(**row, result="shown", detail=str(answer.get("billingAccountName") or "enabled"))
        else:
            remedy = f"gcloud billing projects link {self.id} --billing-account ACCOUNT"
            yield ShownRow(**row, result="failed", detail="none is enabled", remedy=remedy)

    def _apis(self, project: str, names: Sequence[str]) -> Iterator[ShownRow]:
        off = []
        for start in range(0, len(names), _APIS_AT_ONCE):
            query = [("names", f"projects/{project}/services/{name}") for name in names[start : start + _APIS_AT_ONCE]]
            url = f"https://serviceusage.googleapis.com/v1/projects/{project}/services:batchGet"
            answer = rest.ask(self._session, url, query)
            states = {each["name"].rpartition("/")[2]: each.get("state") for each in answer.get("services") or ()}
            off += [name for name in names[start : start + _APIS_AT_ONCE] if states.get(name) != "ENABLED"]
        row = {"id": f"apis:{project}", "title": f"APIs of project {project} are enabled"}
        if off:
            remedy = f"gcloud services enable --project {project} {' '.join(off)}"
            yield ShownRow(**row, result="failed", detail=f"not enabled: {', '.join(off)}", remedy=remedy)
        else:
            yield ShownRow(**row, result="shown", detail=", ".join(names))

    def _zones(self) -> Iterator[ShownRow]:
        zones = {
            each["name"]: each.get("status")
            for page in rest.pages(self._session, f"{self._compute}/zones")
            for each in page.get("items") or ()
            if str(each.get("region")).rpartition("/")[2] == self._settings.region
        }
        usable = ", ".join(sorted(name for name, status in zones.items() if status == "UP"))
        for name in self._settings.node_zones:
            row = {"id": f"zone:{name}", "title": f"zone {name} can be used"}
            if zones.get(name) == "UP":
                yield ShownRow(**row, result="shown", detail="UP")
            else:
                detail = f"its status is {zones[name]}" if name in zones else "your project has no such zone"
                yield ShownRow(**row, result="failed", detail=detail, remedy=f"write any of {usable} in `zones`")

    def _offered(self, kind: str, names: Sequence[str]) -> dict[str, set[str]]:
        """Name → the region's zones that list it."""
        offered: dict[str, set[str]] = {name: set() for name in names}
        query = [("filter", " OR ".join(f'(name = "{name}")' for name in names))]
        for page in rest.pages(self._session, f"{self._compute}/aggregated/{kind}", query):
            for place, content in (page.get("items") or {}).items():
                zone = place.rpartition("/")[2]
                for each in content.get(kind) or ():
                    if zone.startswith(f"{self._settings.region}-") and each["name"] in offered:
                        offered[each["name"]].add(zone)
        return offered

    def _machines(self) -> Iterator[ShownRow]:
        """Google lists no custom types. Their series is asked for: https://cloud.google.com/compute/docs/regions-zones"""
        types = machine_types(self._settings)
        asked_as = {type: _listed_type(type) for type in types if is_custom(type)}
        offered = self._offered("machineTypes", sorted({asked_as.get(type, type) for type in types}))
        zones = {type: offered[asked_as.get(type, type)] for type in types}
        notes = {type: f"asked for as {asked}" for type, asked in asked_as.items()}
        yield from machine_rows(self._settings, zones, notes)

    def _attached(self, pool: Pool) -> bool:
        """Whether the pool's GPUs are attached to a machine that has none of its own."""
        machine = self._settings.known.machines.get(pool.nodes.machine_type)
        return pool.gpus.of_nvidia and machine is not None and not machine.gpus

    def _gpus(self) -> Iterator[ShownRow]:
        pools = [pool for pool in self._settings.gpu_pools if self._attached(pool)]
        offered = self._offered("acceleratorTypes", sorted({pool.gpus.accelerator for pool in pools}))
        for pool in pools:
            gpu = pool.gpus.accelerator
            row = {"id": f"gpu:{pool.name}", "title": f"GPUs of pool {pool.name} are offered in its zones"}
            lacking = [zone for zone in pool.nodes.zones if zone not in offered[gpu]]
            if lacking:
                others = ", ".join(sorted(offered[gpu])) or "no zone here"
                detail = f"{gpu} is not offered in {', '.join(lacking)}, but in {others}"
                remedy = f"write other zones in `{pool.declared_at}.zones`, or another GPU"
                yield ShownRow(**row, result="failed", detail=detail, remedy=remedy)
            else:
                yield ShownRow(**row, result="shown", detail=f"{gpu} in {', '.join(pool.nodes.zones)}")

    def _quota(self, quota: Quota) -> Iterator[ShownRow]:
        """Spot machines count against the preemptible quota of a project that has one, else against the others.

        https://docs.cloud.google.com/compute/docs/instances/provisioning-models
        """
        names = [quota.name]
        limits = {quota.name: self._limit(quota.name, quota.place)}
        if quota.instead and not (limits[quota.name] or (0, 0))[0]:
            names = quota.instead.split(", ")
            limits = {name: self._limit(name, quota.place) for name in names}
        known = {name: limit for name, limit in limits.items() if limit is not None}
        if len(known) < len(names):
            unknown = ", ".join(name for name in names if name not in known)
            row = {"id": f"quota:{quota.name}", "title": quota_title(quota)}
            yield ShownRow(**row, result="not shown", detail=f"Google lists no quota {unknown} in {quota.place}")
            return
        name, (limit, in_use) = min(known.items(), key=lambda item: item[1][0])
        if limit != _UNLIMITED:
            self.facts.quotas[quota.name] = int(limit)
        page = self._settings.known.account.quota_page.format(region=self._settings.region)
        counts = "" if name == quota.name else f"{name} counts, as the project has no {quota.name}. "
        remedy = f"{counts}Request {quota.needed} of {name} in {quota.place}: {page}?project={self.id}"
        yield quota_row(quota, limit, remedy, in_use)

    def _limit(self, name: str, place: str) -> tuple[float, float | None] | None:
        """The limit and what is in use; ``None`` if Google lists no such quota."""
        family = _FAMILY.fullmatch(name)
        if family is not None:
            limit = self._family_limit(family["metric"], family["family"])
            return None if limit is None else (limit, None)
        url = self._compute if place == EVERYWHERE else f"{self._compute}/regions/{place}"
        if url not in self._listed:
            quotas = rest.ask(self._session, url).get("quotas") or ()
            self._listed[url] = {each["metric"]: each for each in quotas}
        quota = self._listed[url].get(name)
        return None if quota is None else (float(quota["limit"]), float(quota.get("usage") or 0))

    def _family_limit(self, metric: str, family: str) -> float | None:
        """The limit of the most specific bucket that holds for the family in the region.

        https://cloud.google.com/service-usage/docs/reference/rest/v1beta1/services.consumerQuotaMetrics
        """
        service = f"https://serviceusage.googleapis.com/v1beta1/projects/{self.id}/services/compute.googleapis.com"
        url = f"{service}/consumerQuotaMetrics/compute.googleapis.com%2F{metric.lower()}"
        here = {"region": self._settings.region, _DIMENSIONS.get(metric, "vm_family"): family}
        buckets = [
            bucket
            for limit in rest.ask(self._session, url, [("view", "FULL")]).get("consumerQuotaLimits") or ()
            for bucket in limit.get("quotaBuckets") or ()
            if all(
                here.get(key, "").upper() == value.upper() for key, value in (bucket.get("dimensions") or {}).items()
            )
        ]
        if not buckets:
            return None
        most_specific = max(buckets, key=lambda bucket: len(bucket.get("dimensions") or {}))
        limit = int(most_specific.get("effectiveLimit") or 0)
        return _UNLIMITED if limit < 0 else limit

    def _cluster_name(self) -> Iterator[ShownRow]:
        name, region = self._settings.cluster_name, self._settings.region
        url = f"https://container.googleapis.com/v1/projects/{self.id}/locations/-/clusters"
        answer = rest.ask(self._session, url)
        places = [
            str(each["location"])
            for each in answer.get("clusters") or ()
            if each["name"] == name and str(each["location"]).startswith(region)
        ]
        # Google leaves out the clusters of zones that do not answer.
        silent = [zone for zone in answer.get("missingZones") or () if str(zone).startswith(region)]
        joins = self._settings.existing_cluster is not None
        row = {"id": "names", "title": f"cluster {name} exists" if joins else f"no other cluster is called {name}"}
        if silent and not places:
            yield ShownRow(**row, result="not shown", detail=f"Google did not ask {', '.join(silent)}")
        elif joins and places:
            yield ShownRow(**row, result="shown", detail=f"in {', '.join(places)}")
        elif joins:
            remedy = f"correct `existingCluster.name`: gcloud container clusters list --project {self.id}"
            yield ShownRow(**row, result="failed", detail=f"none in {region}", remedy=remedy)
        elif places:
            remedy = "if this stack is not deployed yet, write another `clusterName`"
            yield ShownRow(**row, result="warning", detail=f"one exists in {', '.join(places)}", remedy=remedy)
        else:
            yield ShownRow(**row, result="shown", detail=f"none in {region}")

    def _account_name(self) -> Iterator[ShownRow]:
        start = f"{self._settings.cluster_name}-"
        url = f"https://iam.googleapis.com/v1/projects/{self.id}/serviceAccounts"
        addresses = (each["email"] for page in rest.pages(self._session, url) for each in page.get("accounts") or ())
        yield _left_over(
            {"id": "accounts", "title": f"service accounts {start}…"},
            sorted(address for address in addresses if address.startswith(start)),
            f"gcloud iam service-accounts delete --project {self.id} ADDRESS",
        )

    def _network_name(self) -> Iterator[ShownRow]:
        name = self._settings.cluster_name
        found = rest.pages(self._session, f"{self._compute}/global/networks", [("filter", f'name = "{name}"')])
        yield _left_over(
            {"id": "networks", "title": f"network {name}"},
            [each["name"] for page in found for each in page.get("items") or () if each["name"] == name],
            f"gcloud compute networks delete --project {self.id} {name}",
        )

    def _reservation(self, full_name: str) -> Iterator[ShownRow]:
        parts = _RESERVATION.fullmatch(full_name)
        project, name = (parts["project"], parts["name"]) if parts else (self.id, full_name)
        pools = [pool for pool in self._settings.gpu_pools if pool.scaling.reservation == full_name]
        row = {"id": f"reservation:{full_name}", "title": f"reservation {name} has machines of {pools[0].name}"}
        zones = {zone: None for pool in pools for zone in pool.nodes.zones}
        found = {zone: each for zone in zones if (each := self._reservation_in(project, zone, name)) is not None}
        problems = [f"it is not in {zone}" for zone in zones if zone not in found]
        for reservation in found.values():
            problems += _unfit(reservation, pools)
        total = sum(_machines_of(each) for each in found.values())
        self.facts.reservations = {**(self.facts.reservations or {}), full_name: total}
        most = max((pool.scaling.reserved_nodes for pool in pools), default=0)
        if found and total < most:
            problems.append(f"it has {total} machines, the stack says {most}")
        if problems:
            remedy = "write the reservation's own zone, type and number into the pool"
            yield ShownRow(**row, result="failed", detail="; ".join(problems), remedy=remedy)
        else:
            yield ShownRow(**row, result="shown", detail=f"{counted(total, 'machine')} in {', '.join(found)}, READY")

    def _reservation_in(self, project: str, zone: str, name: str) -> Any:
        try:
            return rest.ask(self._session, f"{COMPUTE}/projects/{project}/zones/{zone}/reservations/{name}")
        except GoogleRefusal as refusal:
            if refusal.status != _NOT_FOUND:
                raise
            return None

    def _network(self) -> Iterator[ShownRow]:
        own = f"/networks/{self._settings.cluster_name}"
        subnets = (
            each
            for page in rest.pages(self._session, f"{self._compute}/aggregated/subnetworks")
            for content in (page.get("items") or {}).values()
            for each in content.get("subnetworks") or ()
            if not str(each.get("network")).endswith(own)
        )
        others = (
            (str(each["name"]), cidr)
            for each in subnets
            for cidr in (
                each.get("ipCidrRange"),
                *(at(one, "ipCidrRange") for one in each.get("secondaryIpRanges") or ()),
            )
            if cidr
        )
        yield overlap_row(self._settings, others, "the project's subnets")

    def _existing(self) -> Iterator[ShownRow]:
        existing = self._settings.network.existing
        (path,) = rights.subnets(self._settings)
        row = {"id": "network", "title": f"subnet {path} exists with its ranges"}
        remedy = "correct `network.existing`"
        parts = EXISTING_NETWORK.fullmatch(existing.network) if existing else None
        assert existing is not None
        assert parts is not None  # settings refuse any other
        try:
            subnet = rest.ask(self._session, f"{COMPUTE}/{path}")
        except GoogleRefusal as refusal:
            if refusal.status != _NOT_FOUND:
                raise
            yield ShownRow(**row, result="failed", detail="it is not there", remedy=remedy)
            return
        ranges = [each["rangeName"] for each in subnet.get("secondaryIpRanges") or ()]
        problems = [
            *(
                f"it has no range {name}, but {', '.join(ranges) or 'none'}"
                for name in (existing.pod_range, existing.service_range)
                if name not in ranges
            ),
            *(
                [f"it is in network {network}"]
                if (network := str(subnet["network"]).rpartition("/")[2]) != parts["name"]
                else []
            ),
        ]
        if problems:
            yield ShownRow(**row, result="failed", detail="; ".join(problems), remedy=remedy)
        else:
            yield ShownRow(**row, result="shown", detail=f"{subnet['ipCidrRange']}, {', '.join(ranges)}")

    def _key(self, key: str) -> Iterator[ShownRow]:
        row = {"id": f"key:{key}", "title": f"key {key} can be used"}
        answer = rest.ask(self._session, f"https://cloudkms.googleapis.com/v1/{key}")
        state = str(at(answer, "primary", "state") or "without a primary version")
        if state == "ENABLED":
            self.facts.keys = [*(self.facts.keys or ()), key]
            yield ShownRow(**row, result="shown", detail=state)
        else:
            remedy = f"gcloud kms keys versions enable VERSION --key {key} (or `restore` first)"
            yield ShownRow(**row, result="failed", detail=f"its primary version is {state}", remedy=remedy)

    def _rights(self) -> Iterator[ShownRow]:
        url = f"https://cloudresourcemanager.googleapis.com/v3/projects/{self.id}:testIamPermissions"
        needed = rights.TABLE.needed(self._settings)
        missing = self._missing([*needed], lambda some: rest.ask(self._session, url, body={"permissions": some}))
        row = {"id": "rights", "title": "the deployer has the rights that the stack needs"}
        yield rights_row(row, needed, missing, "permissions, tested on the project", "run the commands below")

    def _rights_on(self, target: rights.GrantTarget) -> Iterator[ShownRow]:
        row = {"id": f"rights:{target.name}", "title": f"the deployer has the rights on {target.on} {target.name}"}
        try:
            missing = self._missing(target.permissions, lambda some: self._test(target, some))
        except GoogleRefusal as refusal:
            if refusal.status != _NOT_FOUND:
                raise
            remedy = "correct its name in the stack file, or create it"
            yield ShownRow(**row, result="failed", detail="it is not there", remedy=remedy)
            return
        needed = rights.TABLE.needed(self._settings, target.on)
        remedy = target.grant.format(member="MEMBER", role=target.role)
        yield rights_row(row, needed, missing, f"permissions, tested on the {target.on}", remedy)

    def _test(self, target: rights.GrantTarget, permissions: Sequence[str]) -> Any:
        name, project = target.name, self.id
        if target.on == "bucket":
            url = f"https://storage.googleapis.com/storage/v1/b/{name}/iam/testPermissions"
            return rest.ask(self._session, url, [("permissions", each) for each in permissions])
        url = {
            "streaming project": f"https://cloudresourcemanager.googleapis.com/v3/projects/{name}:testIamPermissions",
            "subnet": f"{COMPUTE}/{name}/testIamPermissions",
            "key": f"https://cloudkms.googleapis.com/v1/{name}:testIamPermissions",
            "registry": f"https://artifactregistry.googleapis.com/v1/{name}:testIamPermissions",
            "secret": f"https://secretmanager.googleapis.com/v1/projects/{project}/secrets/{name}:testIamPermissions",
            "service account": f"https://iam.googleapis.com/v1/{_account(name)}:testIamPermissions",
        }[target.on]
        return rest.ask(self._session, url, body={"permissions": [*permissions]})

    def _missing(self, needed: Sequence[str], test: Callable[[list[str]], Any]) -> list[str]:
        missing = []
        for start in range(0, len(needed), _PERMISSIONS_AT_ONCE):
            some = [*needed[start : start + _PERMISSIONS_AT_ONCE]]
            held = test(some).get("permissions") or ()
            missing += [each for each in some if each not in held]
        self.facts.missing_rights = sorted({*self.facts.missing_rights, *missing})
        return missing


def opened(settings: Settings) -> GoogleProject:
    """The project of the stack, as the user of this shell. Raises AccountError."""
    return GoogleProject(settings)


def _question(id: str, title: str, right: str, ask: Callable[[], Iterator[ShownRow]]) -> AccountQuestion:
    return AccountQuestion(id=id, title=title, right=right, ask=ask)


def _listed_type(custom: str) -> str:
    """A type with a fixed name of the series of a custom type, whose own name leaves out N1's."""
    series = custom.partition("-")[0]
    return f"{'n1' if series == 'custom' else series}-standard-2"


def _account(address: str) -> str:
    """The full name of a service account. With ``-`` for its project Google answers 403 if there is none:
    https://docs.cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/get"""
    domain = address.partition("@")[2]
    project, end, _ = domain.partition(".iam.gserviceaccount.com")
    return f"projects/{project if end and '.' not in project else '-'}/serviceAccounts/{address}"


def _left_over(row: Mapping[str, str], found: Sequence[str], delete: str) -> ShownRow:
    if not found:
        return ShownRow(**row, result="shown", detail="none exists, so none is in the way")
    detail = f"exist: {', '.join(found)}. If the stack is not deployed, its update fails at them"
    return ShownRow(**row, result="warning", detail=detail, remedy=f"delete them if nothing uses them: `{delete}`")


def _machines_of(reservation: Mapping[str, Any]) -> int:
    return int(at(reservation, "specificReservation", "count") or 0)


def _unfit(reservation: Mapping[str, Any], pools: Sequence[Pool]) -> Iterator[str]:
    """In what a reservation does not suit its pools.

    https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations: GKE names a reservation, which it can
    only if machines have to name it.
    """
    if reservation.get("status") != "READY":
        yield f"its status is {reservation.get('status')}"
    if not reservation.get("specificReservationRequired"):
        yield "machines without its name can take it (`specificReservationRequired` is off)"
    machine = at(reservation, "specificReservation", "instanceProperties", "machineType")
    for pool in pools:
        if machine not in pool.nodes.machine_types:
            yield f"it has {machine}, pool {pool.name} asks for {pool.nodes.machine_type}"
