"""What people ask for that a stack file cannot say yet, by the words that they use for it, and what to do instead.

An answer here goes when its key comes: ``tests/components/settings/test_wishes.py`` asks for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from facts.catalog import PLUGINS


@dataclass(frozen=True, kw_only=True)
class Wish:
    """``what`` is wished for, in the words of a sentence, and what to do ``instead``.

    ``keys`` matches the keys that ask for it, in any section; ``values`` the values that do, of the keys in ``of``.
    Words are compared whole, in lower case and without ``-``, ``_``, spaces and the like.
    """

    what: str
    instead: str
    keys: str = ""
    values: str = ""
    of: frozenset[str] = frozenset()

    @property
    def answer(self) -> tuple[str, str]:
        """What is wrong, and what to write or do instead."""
        return f"{self.what} not supported yet", self.instead


_OUTPUT: Final = "`pulumi stack output network`"
_CAPACITY: Final = frozenset({"capacity"})
_GPU: Final = frozenset({"gpu", "gpus", "accelerator"})
_ADDONS: Final = frozenset({"addons"})
_CHART: Final = (
    "Leave it out, and install it in the cluster: its GPU pools have the labels and taints of docs/architecture.md"
)

WISHES: Final = (
    Wish(
        what="an existing network by this key is",
        # Not the keys of network.existing itself.
        keys=r"(?!(existing|subnets|podrange|servicerange)$)"
        r"((existing|shared|host|my|own|custom|use)?(vpc|vnet|subnet|subnetwork|virtualnetwork)"
        r"(id|ids|name|names|arn|project|selflink|resourcegroup)?"
        r"|existing(network)?|network(id|name|project|selflink)|(private|public|node|pod|service|control|controlplane)?subnet(work)?(id)?s"
        r"|(node|pod|service|control|controlplane)subnet(id)?|secondary(ip)?ranges?|(pod|pods|service|services)range(name)?"
        r"|(networkproject|hostproject|sharedvpc)(id)?|natgateway(id)?|routetables?|securitygroups?(ids)?)",
        instead="Write network: {existing: {network: …, subnets: […]}} (docs/configuration.md); or "
        "leave it out: the program makes a network of its own in the ranges of network.nodeCidr and others, "
        f"and yours connects to it by {_OUTPUT}",
    ),
    Wish(
        what="an existing cluster is",
        keys=r"(existing|import)cluster(name|id|arn)?|cluster(id|arn)|kubeconfig(path)?",
        values=r"existing.*|own|self.*|onprem.*|baremetal|kubernetes|k8s|k3s|rke2?|kubeadm|kind|minikube|byo.*",
        of=frozenset({"cloud"}),
        instead=f"Write one of {', '.join(PLUGINS)} for a new cluster; the gate alone judges programs of your own "
        "(docs/gating-your-own-program.md)",
    ),
    Wish(
        what="a private DNS zone of your own for the control plane is",
        keys=r"(private|custom)?dns(zone|zones|zoneid|zonename|servers?)?|privatednszone(id)?s?|fqdnsubdomain",
        instead=f"Leave it out: the cloud makes the control plane's zone, which you can link to yours ({_OUTPUT})",
    ),
    Wish(
        what="a queue that gives out all machines of a job at once is",
        keys=r"queued(provisioning)?|provisioningrequests?",
        values=r"queued(provisioning)?",
        of=_CAPACITY,
        instead="Write capacity: flex-start where the cloud has it: machines come one by one, each when there is one",
    ),
    Wish(
        what="a fabric for several nodes (EFA, InfiniBand, RDMA, GPUDirect) is",
        keys=r"(enable)?(efa|infiniband|ib|rdma|roce|gpudirect|gpudirecttcpxo?|tcpxo?|nccl|fabric|gvnic|srd|dranet)"
        r"(enabled|only|interfaces)?|multinetwork(ing)?|networkinterfaces?",
        instead="Leave it out and keep a job on one node: between nodes NCCL would use TCP, many times slower",
    ),
    Wish(
        what="placing nodes close together is",
        keys=r"(compactplacement|placement(group|groups|policy|type))|proximityplacementgroup(id)?|ppg|clusterplacement|spread",
        instead="Leave it out and keep a job on one node; write one zone if several nodes talk to each other",
    ),
    Wish(
        what="sharing a GPU by MPS is",
        keys=r"(enable)?mps(clients.*)?|multiprocessservice",
        instead="Write timeSharing: {clientsPerGpu: 2} where the cloud has it (docs/configuration.md says where)",
    ),
    Wish(
        what="an accelerator other than NVIDIA's GPUs is",
        keys=r"tpus?|tpupools?|neuron|trainium|inferentia|tputopology",
        values=r"(aws|amazon|google|cloud|intel)?(tpu.*|trainium.*|trn.*|inferentia.*|inf\d.*|neuron.*|gaudi.*|habana.*)"
        r"|ct\d.*|v\d(e|p|lite.*)|(amd)?(radeon.*|mi\d+x?.*|instinct.*)|amd.*",
        of=_GPU,
        instead="Write an NVIDIA GPU; docs/configuration.md lists those of each cloud",
    ),
    Wish(
        what="a machine that joins NVIDIA's own CPU with its GPU (Arm) is",
        values=r"(nvidia)?(gb|gh)\d{3}.*",
        of=_GPU,
        instead="Write nvidia-b200, with x86 machines, where the cloud has it",
    ),
    Wish(
        what="a permissions boundary or a path for roles by this key is",
        # Not the keys of security itself.
        keys=r"(?!(permissionsboundary|rolepath)$)"
        r"((iam|role)?permissions?boundar(y|ies)(arn)?|(iam)?rolepath|iampath|path)",
        instead="Write security: {permissionsBoundary: …, rolePath: …} where roles have them (docs/configuration.md)",
    ),
    Wish(
        what="a mounted bucket or file store is",
        keys=r"storage|buckets?|volumes?|gcsfuse|gcs|blobcsi|blob|lustre|filestore|s3|mountpoint|efs|fsx|ebs",
        values=r"(gcs|gcp)?fuse|gcsfuse.*|blob.*|s3.*|mountpoint.*|(managed)?lustre.*|filestore.*|azurefiles?.*|azuredisk.*",
        of=_ADDONS,
        instead="Write workloads: {checkpoints: {…}} for a bucket that jobs write to, and identities for buckets that "
        "are there; mounted they are by a storage driver that you install in the cluster",
    ),
    Wish(
        what="streaming or preloading of images is",
        keys=r"(enable)?(gcfs(config)?|artifactstreaming|soci|fastimagepull|lazyloading|preload.*"
        r"|secondarybootdisks?|imagecache|faststart)",
        instead="Leave it out, and keep images small or in the region: a new node pulls them in full",
    ),
    Wish(
        what="a schedule of nodes is",
        keys=r"schedules?|(night|nightly)?shutdown|(start|stop)time|sleep|cron|downscaler|workinghours|officehours|uptime",
        instead="Leave it out: GPU pools cost nothing without pods; what remains is `pulumi stack output cost`, and "
        "`pulumi destroy` ends that",
    ),
    Wish(
        what="this stack inside the cluster is",
        keys=r"(volcano|kuberay|ray|kubeflow|kserve|slurm|gpuoperator|networkoperator|argocd|flux)(enabled)?",
        values=r"volcano|kuberay|ray|kubeflow|kserve|gpuoperator|networkoperator",
        of=_ADDONS,
        instead=_CHART,
    ),
    Wish(
        what="a cloud's own choice of nodes is",
        keys=r"(auto|automode|nodeautoprovisioning|nap|autopilot|computeclass(es)?|autoprovisioning)(enabled)?",
        values=r"auto(mode|matic|pilot)?|nap|nodeautoprovisioning|autopilot",
        of=frozenset({"autoscaler", "cloud"}),
        instead="Leave it out: every pool is one that the stack file names, with its limit and its price",
    ),
    Wish(
        what="warm GPU nodes are",
        keys=r"(warm|standby|buffer|headroom|overprovision(ing)?|capacitybuffers?)(nodes|pool|size)?",
        instead="Leave it out: a GPU node that waits costs as much as one that works",
    ),
    Wish(
        what="another strategy of upgrades is",
        keys=r"autoupgrade|bluegreen.*",
        instead="Leave it out: nodes that run GPU jobs are left alone; docs/operations.md says what is upgraded",
    ),
    Wish(
        what="a script that nodes run when they start is",
        keys=r"(user|custom)data|startupscript|bootstrap.*",
        instead="Leave it out, and run a DaemonSet; `raw` hands inputs to the cloud's provider",
    ),
)

# What is called otherwise here: key → the key to write, of the same section or of the whole file.
SYNONYMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *("accessentries", "accessconfig", "admins", "admin", "admingroups", "adminusers", "admingroupobjectids"),
            *(
                "aadprofile",
                "entragroups",
                "googlegroups",
                "rbac",
                "users",
                "groups",
                "members",
                "developers",
                "viewers",
            ),
            *("mapusers", "maproles", "sso", "iam"),
        ),
        "access: [{name: ops, who: …, role: admin}]",
    ),
    **dict.fromkeys(
        ("maintenancewindow", "maintenancewindows", "maintenancepolicy", "upgradewindow", "windows"),
        "maintenance: {day: sunday, start: '02:00', hours: 12}",
    ),
    **dict.fromkeys(
        ("dnsbasedendpoint", "enablednsendpoint", "externaltraffic", "allowexternaltraffic"),
        "network: {dnsEndpoint: true}",
    ),
    **dict.fromkeys(
        ("workloadidentity", "workloadidentities", "serviceaccounts", "podidentity", "podidentities", "irsa"),
        "identities: [{serviceAccount: default/trainer, read: […]}]",
    ),
    **dict.fromkeys(
        (
            *("team", "tenants", "tenant", "quota", "quotas", "resourcequota", "resourcequotas"),
            *("priorities", "priorityclass", "priorityclasses", "limitrange", "limitranges"),
        ),
        "teams: [{name: research, gpus: 8}]",
    ),
    **dict.fromkeys(("prometheus", "grafana", "dcgm", "dcgmexporter"), "workloads: {monitoring: {}}"),
    **dict.fromkeys(("kueue", "queues", "jobqueue"), "workloads: {queue: {}}"),
    **dict.fromkeys(("jupyter", "jupyterhub", "notebooks"), "workloads: {notebook: {}}"),
    "keda": "workloads: {services: [{name: …, image: …, gpu: …, port: …}]}",
    **dict.fromkeys(("dws", "dynamicworkloadscheduler"), "capacity: flex-start"),
    **dict.fromkeys(("maxrunduration", "maxrunseconds"), "flexStart: {maxRunHours: 24}"),
    **dict.fromkeys(
        ("capacityblock", "capacityblocks", "mlcapacityblock", "mlcapacityblocks", "capacityblockid"),
        "capacity: capacity-block, and reservation: {name: …, first: …, last: …}",
    ),
    **dict.fromkeys(
        (
            *("capacityreservation", "capacityreservations", "capacityreservationid", "capacityreservationgroup"),
            *("capacityreservationgroupid", "reservationaffinity", "reserved", "reservationid"),
        ),
        "reservation: <its name or id>",
    ),
    **dict.fromkeys(
        (
            *(
                "cmek",
                "cmk",
                "diskkmskey",
                "diskkmskeyid",
                "diskencryptionkey",
                "diskencryptionset",
                "diskencryptionsetid",
            ),
            *("bootdiskkmskey", "bootkmskey", "ebskmskey", "ebskmskeyid", "volumekmskey", "kmskeyfordisks"),
        ),
        "security: {diskKey: …}",
    ),
    **dict.fromkeys(
        ("upgrades", "upgradepolicy", "upgradesettings", "upgradestrategy", "upgradeoptions", "updateconfig", "drain"),
        "upgrade: {maxUnavailable: 1}",
    ),
    **dict.fromkeys(("draintimeout", "draintimeoutinminutes"), "upgrade: {drainMinutes: 60}"),
    **dict.fromkeys(
        (
            *("registries", "containerregistry", "containerregistries", "imageregistries", "dockerregistries", "acr"),
            *(
                "acrid",
                "acrname",
                "attachacr",
                "ecr",
                "gcr",
                "artifactregistry",
                "registryprojectids",
                "privateregistry",
            ),
        ),
        "workloads: {registry: {}} for one of the stack's own, workloads: {pullFrom: […]} for those of others",
    ),
    **dict.fromkeys(
        (*PLUGINS, "extra", "extraargs", "extrainputs", "override", "overrides", "passthrough"), "raw: {…}"
    ),
    "maintenanceexclusions": "maintenance: {exclusions: [{name: …, first: …, last: …}]}",
    "resourcelabels": "labels",
    **dict.fromkeys(("defaulttags", "resourcetags", "extratags", "costtags"), "tags: {CostCenter: …}"),
    "instancetype": "machineType",
    "instancetypes": "machineType",
    "vmsize": "machineType",
    "machine": "machineType",
    "disksize": "diskGb",
    "disksizegb": "diskGb",
    "bootdisksize": "diskGb",
    "spot": "capacity: spot",
    "preemptible": "capacity: spot",
    "min": "minNodes",
    "max": "maxNodes",
    "minsize": "minNodes",
    "maxsize": "maxNodes",
    "authorizedips": "authorizedNetworks",
    "authorizedipranges": "authorizedNetworks",
    "publicaccesscidrs": "authorizedNetworks",
    "migprofile": "mig",
    "timeslicing": "timeSharing",
    "gpusharing": "timeSharing",
    "nodepools": "gpuPools",
    "gputype": "gpu",
    "gpucount": "gpusPerNode",
}

_CLOUD_OF_PLUGIN: Final = {"".join(filter(str.isalnum, plugin)): cloud for cloud, plugin in PLUGINS.items()}
_COMPANIES: Final = {
    "google": "gcp",
    "googlecloud": "gcp",
    "amazon": "aws",
    "azure": "azurenative",
    "microsoft": "azurenative",
}


def plain(word: str) -> str:
    """A word as the table compares it."""
    return re.sub(r"[^a-z0-9]+", "", word.lower())


def of_key(key: str, known: Iterable[str], whole: Iterable[str] = ()) -> tuple[str, str] | None:
    """The answer to a key that is not among the ``known`` ones of its section, if it is a known wish; ``whole`` are the
    keys of the whole file."""
    word, here = plain(key), {*known, *whole}
    if (other := SYNONYMS.get(word)) is not None and other.partition(":")[0] in here:
        return f"there is no key '{key}'", f"Write {other}"
    wish = next((wish for wish in WISHES if wish.keys and re.fullmatch(wish.keys, word)), None)
    return None if wish is None else wish.answer


def of_value(key: str, value: object) -> tuple[str, str] | None:
    """The answer to a value of ``key`` that was refused, if it, or one in its list, is a known wish."""
    cloud = _CLOUD_OF_PLUGIN.get(_COMPANIES.get(word := plain(str(value)), word)) if key == "cloud" else None
    if cloud is not None:
        return f"'{value}' is the name of a company or of a provider", f"Write {cloud}"
    wish = wish_for_value(key, value)
    return None if wish is None else wish.answer


def wish_for_value(key: str, value: object) -> Wish | None:
    """The wish that a value of ``key``, or one in its list, is for."""
    words = [plain(each) for each in (value if isinstance(value, list | tuple) else [value]) if isinstance(each, str)]
    return next(
        (wish for wish in WISHES if key in wish.of and any(re.fullmatch(wish.values, word) for word in words)), None
    )
