"""What of a stack is left in a project of Google Cloud after ``pulumi destroy``. Every request reads.

What the program makes has the cluster's name at the start of its own. Machines and disks have the label
``goog-k8s-cluster-name``, which GKE sets, also on disks of claims, which outlive the cluster:
https://cloud.google.com/kubernetes-engine/docs/how-to/creating-managing-labels. What load balancers leave has no name
of the cluster; it is in the cluster's network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from typing_extensions import override

from account.asking import AccountQuestion
from account.clouds.gke import rest
from account.clouds.gke.questions import GoogleProject
from account.clouds.gke.rest import GoogleRefusal
from account.left import Left, question
from facts.concepts.unknown import at

_SILENT: Final = 503
_ENDED: Final = ("STOPPING", "DELETING", "TERMINATED")
_SHORTEST: Final = 40
"""Characters of a cluster's name that are at the start of a name which Google limits, however long the rest is."""


class GoogleLeftovers(GoogleProject):
    """The same project, asked after ``pulumi destroy``."""

    @property
    def cluster(self) -> str | None:
        """The stack's cluster if it is still there."""
        answer = rest.ask(self._session, f"https://container.googleapis.com/v1/projects/{self.id}/locations/-/clusters")
        for each in answer.get("clusters") or ():
            if each["name"] == self._name and self._is_here(each["location"]):
                return f"projects/{self.id}/locations/{each['location']}/clusters/{self._name}"
        # Google leaves out the clusters of zones that do not answer.
        if silent := [*filter(self._is_here, answer.get("missingZones") or ())]:
            raise GoogleRefusal(_SILENT, {"error": {"message": f"{', '.join(silent)} does not answer"}})
        return None

    def _is_here(self, place: object) -> bool:
        return str(place).startswith(self._settings.region)

    @override
    def questions(self) -> Iterator[AccountQuestion]:
        """One for each kind of resource."""
        workloads, project = self._settings.workloads, f"--project {self.id}"
        of = partial(question, region=project)
        compute = "gcloud compute"
        yield of("instances", "compute.instances.list", partial(self._labelled, "instances"),
                 f"{compute} instances delete")  # fmt: skip
        yield of("disks", "compute.disks.list", partial(self._labelled, "disks"), f"{compute} disks delete")
        yield of("instance groups", "compute.instanceGroupManagers.list",
                 partial(self._own, "instanceGroupManagers", f"gke-{self._name}"),
                 f"{compute} instance-groups managed delete")  # fmt: skip
        yield of("forwarding rules", "compute.forwardingRules.list", self._forwarding_rules,
                 f"{compute} forwarding-rules delete")  # fmt: skip
        yield of("network endpoint groups", "compute.networkEndpointGroups.list",
                 partial(self._in_network, "networkEndpointGroups"),
                 f"{compute} network-endpoint-groups delete")  # fmt: skip
        yield of("routers", "compute.routers.list", partial(self._in_network, "routers"), f"{compute} routers delete")
        yield of("firewall rules", "compute.firewalls.list", self._firewalls, f"{compute} firewall-rules delete")
        yield of("subnets", "compute.subnetworks.list", partial(self._in_network, "subnetworks"),
                 f"{compute} networks subnets delete")  # fmt: skip
        yield of("networks", "compute.networks.list", self._networks, f"{compute} networks delete")
        yield of("resource policies", "compute.resourcePolicies.list",
                 partial(self._own, "resourcePolicies", self._name), f"{compute} resource-policies delete")  # fmt: skip
        yield of("service accounts", "iam.serviceAccounts.list", self._service_accounts,
                 "gcloud iam service-accounts delete")  # fmt: skip
        for what, setting, on_destroy, right, find, remove in (
            ("repositories", "registry", workloads.registry and workloads.registry.on_destroy,
             "artifactregistry.repositories.list", self._repositories, "gcloud artifacts repositories delete"),
            ("buckets", "checkpoints", workloads.checkpoints and workloads.checkpoints.on_destroy,
             "storage.buckets.list", self._buckets, "gcloud storage rm --recursive"),
            ("file shares", "sharedVolume", workloads.shared_volume and workloads.shared_volume.on_destroy,
             "file.instances.list", self._file_shares, "gcloud filestore instances delete"),
        ):  # fmt: skip
            kept = f"workloads.{setting}.onDestroy is keep; you pay for what is stored" if on_destroy == "keep" else ""
            yield of(what, right, find, remove, kept=kept)

    @property
    def _name(self) -> str:
        return self._settings.cluster_name

    def _everywhere(self, kind: str, filter: str = "") -> Iterator[Mapping[str, Any]]:
        """Resources of Compute Engine in all zones and regions."""
        query = [("filter", filter)] if filter else []
        for page in rest.pages(self._session, f"{self._compute}/aggregated/{kind}", query):
            for here in (page.get("items") or {}).values():
                yield from here.get(kind) or ()

    def _labelled(self, kind: str) -> Iterator[Left]:
        for each in self._everywhere(kind, f'labels.goog-k8s-cluster-name = "{self._name}"'):
            if each.get("status") not in _ENDED:
                size = f"{each['sizeGb']} GiB" if "sizeGb" in each else _last(each.get("machineType"))
                yield Left(str(each["name"]), ", ".join(filter(None, (size, _place(each)))))

    def _own(self, kind: str, start: str) -> Iterator[Left]:
        for each in self._everywhere(kind):
            if str(each["name"]).startswith(f"{start[:_SHORTEST]}-"):
                yield Left(str(each["name"]), _place(each))

    def _in_network(self, kind: str) -> Iterator[Left]:
        for each in self._everywhere(kind):
            if self._is_own(each.get("network")):
                yield Left(str(each["name"]), _place(each))

    def _is_own(self, network: object) -> bool:
        return self._settings.network.existing is None and _last(network) == self._name

    def _forwarding_rules(self) -> Iterator[Left]:
        """Of Services in the cluster's network: their own rules, or those whose firewall rules are there.

        https://github.com/kubernetes/cloud-provider-gcp/blob/master/providers/gce/gce_loadbalancer_naming.go
        """
        opened = {_FIREWALL.sub("", left.id) for left in self._firewalls()}
        for each in self._everywhere("forwardingRules"):
            if self._is_own(each.get("network")) or each["name"] in opened:
                yield Left(str(each["name"]), str(each.get("IPAddress") or ""))

    def _firewalls(self) -> Iterator[Left]:
        for page in rest.pages(self._session, f"{self._compute}/global/firewalls"):
            for each in page.get("items") or ():
                if self._is_own(each.get("network")):
                    yield Left(str(each["name"]))

    def _networks(self) -> Iterator[Left]:
        if self._settings.network.existing is None:
            query = [("filter", f'name = "{self._name}"')]
            for page in rest.pages(self._session, f"{self._compute}/global/networks", query):
                yield from (Left(str(each["name"])) for each in page.get("items") or ())

    def _service_accounts(self) -> Iterator[Left]:
        url = f"https://iam.googleapis.com/v1/projects/{self.id}/serviceAccounts"
        for page in rest.pages(self._session, url):
            for each in page.get("accounts") or ():
                if str(each.get("displayName") or "").endswith(f" of cluster {self._name}"):
                    yield Left(str(each["email"]))

    def _repositories(self) -> Iterator[Left]:
        place = f"projects/{self.id}/locations/{self._settings.region}"
        for page in rest.pages(self._session, f"https://artifactregistry.googleapis.com/v1/{place}/repositories"):
            for each in page.get("repositories") or ():
                if _last(each["name"]) == self._name:
                    yield Left(str(each["name"]), f"{each.get('sizeBytes', 0)} bytes")

    def _buckets(self) -> Iterator[Left]:
        start = self._name[:_SHORTEST]
        query = [("project", self.id), ("prefix", start)]
        form = re.compile(rf"{re.escape(start)}{'' if start == self._name else '.*'}-[0-9a-f]{{8}}-checkpoints")
        for page in rest.pages(self._session, "https://storage.googleapis.com/storage/v1/b", query):
            for each in page.get("items") or ():
                if form.fullmatch(str(each["name"])):
                    yield Left(f"gs://{each['name']}")

    def _file_shares(self) -> Iterator[Left]:
        place = f"projects/{self.id}/locations/-"
        for page in rest.pages(self._session, f"https://file.googleapis.com/v1/{place}/instances"):
            for each in page.get("instances") or ():
                if _last(each["name"]) == f"{self._name}-shared":
                    yield Left(str(each["name"]), str(at(each, "tier") or ""))


_FIREWALL: Final = re.compile(r"^k8s-fw-")


def opened(settings: Any) -> GoogleLeftovers:
    """The stack's project, as the user's application default credentials. Raises AccountError."""
    return GoogleLeftovers(settings)


def _last(address: object) -> str:
    return str(address or "").rpartition("/")[2]


def _place(resource: Mapping[str, Any]) -> str:
    return _last(resource.get("zone") or resource.get("region"))
