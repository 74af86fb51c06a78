"""What is refused, with its remedy, as rows: words that a stack file does not have (``Answer``), settings that a cloud
does not support (``Refused``), and texts of another form (``Form``). A cloud's own are in ``limits/<cloud>``.

What takes more than a row is a check in ``limits``. A remedy is a sentence that can be followed:
tests/components/settings/test_remedies.py does. A word is worth a row if people write it and no key is near to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from facts import catalog
from facts.catalog import PLUGINS
from facts.concepts.durations import HOURS_PER_MONTH


@dataclass(frozen=True)
class Answer:
    """The remedy for these ``words``, in lower case, letters and digits only, with spaces between them.

    They are keys, or values of the keys ``of``. ``unsupported`` is what people who write them want, if it is not
    supported by any name. ``autoscaler``: only with this one. ``in_pool``: only as keys of a pool, or only elsewhere.
    """

    words: str
    remedy: str
    unsupported: str = ""
    of: tuple[str, ...] = ()
    autoscaler: str | None = None
    in_pool: bool | None = None

    @property
    def key(self) -> str:
        """The key that the remedy writes; ``""`` if it writes none."""
        match = re.match(r"(?:Write|Add) (\w+)", self.remedy)
        return match[1] if match is not None and not self.of else ""


ANY: Final = object()
"""Whatever is written that asks for something."""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """Settings that a cloud does not support, whatever their values are.

    ``keys`` are paths; ``pools`` are the entries of ``gpuPools`` and ``cpuPools``, on an existing cluster also
    ``adminPool``. ``value``: the only value that is refused; without it all are but those that ask for nothing.
    ``within``: instead, the least and the greatest number that are supported; of a range of addresses, its prefix.
    ``together``, ``present``: only if these other keys, of the same pool or of the file, have these values, or any.
    ``autoscaler``: only with this one.
    In the texts ``{value}`` is what is written, ``{count}`` how many, ``{prefix}`` its prefix, ``{nearest}`` the
    nearest supported number.
    """

    keys: tuple[str, ...]
    message: str
    remedy: str
    value: object = ANY
    within: tuple[int, int] | None = None
    autoscaler: str | None = None
    together: Mapping[str, object] = field(default_factory=dict)
    present: tuple[str, ...] = ()

    def refuses(self, value: Any) -> tuple[str, str] | None:
        """What is wrong with the value, and what to write instead; ``None`` if it is supported."""
        words = {"value": str(value), "count": str(len(value)) if isinstance(value, tuple) else ""}
        if self.within is not None and not asks_nothing(value):
            number = int(value.rpartition("/")[2]) if isinstance(value, str) else value
            nearest = min(max(number, self.within[0]), self.within[1])
            refused, words = number != nearest, {**words, "prefix": f"/{number}", "nearest": str(nearest)}
        else:
            refused = not asks_nothing(value) if self.value is ANY else value == self.value
        return (_filled(self.message, words), _filled(self.remedy, words)) if refused else None


KNOWN_LATER: Final = "known-at-the-update"
"""What stands for an output of another resource until its value is known; it has any form."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """How a cloud writes the texts at ``keys``, whose ``[]`` stands for each entry of a list.

    A group ``region`` of ``written`` must be the cluster's. ``is_not``, ``remedy``: what a user reads of another text;
    ``elsewhere``: of a text of another region. ``{region}`` is the cluster's.
    """

    keys: tuple[str, ...]
    written: re.Pattern[str]
    is_not: str
    remedy: str
    elsewhere: str = ""


def asks_nothing(value: object) -> bool:
    """Whether a value is that of a key that is left out; 0 is equal to ``false``."""
    return value in (None, False, {}, (), "")


def _filled(text: str, words: Mapping[str, str]) -> str:
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text


def plain(word: str) -> str:
    """A word as the rows have it."""
    return re.sub(r"[^a-z0-9]+", "", word.lower())


_VIEWER: Final = "Write access: [{name: research, who: …, role: viewer}]"
_EVERY: Final[tuple[Answer, ...]] = (
    # Access: the least rights come first.
    Answer("viewers viewer readers readonly auditors", _VIEWER),
    Answer(
        "developers developer members member engineers",
        "Write access: [{name: research, who: …, role: developer, namespaces: [research]}]",
    ),
    Answer(
        "admins admin adminusers admingroups admingroupobjectids aadprofile clusteradmins",
        "Write access: [{name: ops, who: …, role: admin}]",
    ),
    Answer(
        "users user groups group people rbac iam sso accessentries mapusers maproles entragroups googlegroups",
        f"{_VIEWER}; role: developer with namespaces may run jobs, role: admin everything",
    ),
    # Other words for keys.
    Answer(
        "maintenancewindow maintenancewindows maintenancepolicy upgradewindow windows",
        "Write maintenance: {day: sunday, start: '02:00', hours: 12}",
    ),
    Answer("maintenanceexclusions", "Write maintenance: {exclusions: [{name: …, first: …, last: …}]}"),
    Answer("dnsbasedendpoint enablednsendpoint externaltraffic", "Write network: {dnsEndpoint: true}"),
    Answer(
        "workloadidentity workloadidentities serviceaccounts podidentity podidentities irsa",
        "Write identities: [{serviceAccount: default/trainer, read: […]}]",
    ),
    Answer("quota quotas resourcequota", "Write gpus: 8"),
    Answer("name names namespace account", "Write serviceAccount: default/trainer, its namespace and its name"),
    Answer("bucket buckets", "Write read: [my-bucket]"),
    Answer(
        "tenants tenant team quota quotas resourcequota namespaces namespace",
        "Write teams: [{name: research, gpus: 8}]",
        in_pool=False,
    ),
    Answer(
        "quota quotas resourcequota",
        "Leave it out: quotas are gpus of the whole file's teams, as in gpucluster:teams: [{name: research, gpus: 8}]; "
        "teams of a pool are the only ones that may use it",
        in_pool=True,
    ),
    Answer("tenants tenant namespaces namespace", "Write teams: [research]", in_pool=True),
    Answer("team teams", "Write namespaces: [research], which has the name of the team"),
    Answer(
        "namespace namespaces", "Leave it out: the program chooses the namespace; a team's has the name of the team"
    ),
    Answer("prometheus grafana dcgm dcgmexporter", "Write workloads: {monitoring: {}}"),
    Answer("kueue queues jobqueue", "Write workloads: {queue: {}}"),
    Answer("jupyter jupyterhub notebooks", "Write workloads: {notebook: {}}"),
    Answer("keda inference serving", "Write workloads: {services: [{name: …, image: …}]}"),
    Answer("alertmanager alerts slack pagerduty webhook", "Write workloads: {monitoring: {alertmanagerSecret: …}}"),
    Answer(
        "registries containerregistry imageregistries acr ecr gcr artifactregistry attachacr",
        "Write workloads: {registry: {}}; pullFrom there names existing registries, where the cloud can grant access",
    ),
    Answer(
        "storage bucket buckets volumes gcs s3 efs fsx filestore lustre blob",
        "Write workloads: {checkpoints: {}} for a new bucket; identities gives access to existing ones",
    ),
    Answer("dws dynamicworkloadscheduler flex", "Write capacity: flex-start"),
    Answer("maxrunduration maxrunseconds", "Write flexStart: {maxRunHours: 24}"),
    Answer("spot preemptible", "Write capacity: spot"),
    Answer(
        "capacityreservation capacityreservations capacityreservationid capacityreservationgroup reservationaffinity "
        "reserved reservationid",
        "Write reservation: <its name or id>",
    ),
    Answer(
        "capacityblock capacityblocks mlcapacityblock capacityblockid",
        "Write capacity: capacity-block, and reservation: {name: <its id>, first: '2027-03-01', last: '2027-03-08'}",
    ),
    Answer(
        "cmek cmk diskkmskey diskencryptionkey diskencryptionset diskencryptionsetid bootdiskkmskey ebskmskey",
        "Write security: {diskKey: …}",
    ),
    Answer("upgrades upgradepolicy upgradesettings updateconfig", "Write upgrade: {maxUnavailable: 1}"),
    Answer("drain draintimeout draintimeoutinminutes", "Write upgrade: {drainMinutes: 60}"),
    Answer("extra overrides extraargs override passthrough", "Write raw: {…}"),
    Answer("resourcelabels", "Write labels: {…}"),
    Answer("defaulttags resourcetags extratags costtags", "Write tags: {CostCenter: …}, where the cloud has tags"),
    Answer("instancetype instancetypes vmsize machine", "Write machineType: …"),
    Answer("disksize disksizegb bootdisksize", "Write diskGb: …"),
    Answer("min minsize", "Write minNodes: 0"),
    Answer("max maxsize", "Write maxNodes: …"),
    Answer(
        "nodecount count desiredsize desiredcapacity replicas size",
        "Write maxNodes: 2, the most that may run; without pods there are none",
    ),
    Answer("authorizedips authorizedipranges publicaccesscidrs", "Write authorizedNetworks: […]"),
    Answer("migprofile", "Write mig: …"),
    Answer("timeslicing gpusharing", "Write timeSharing: {clientsPerGpu: 2}"),
    Answer("nodepools", "Write gpuPools: […]"),
    Answer("gputype accelerator acceleratortype", "Write gpu: …"),
    Answer("gpucount gpus gpuspermachine acceleratorcount", "Write gpusPerNode: 1"),
    Answer("nodeselector nodelabels", "Write labels: {…}"),
    Answer("nodetaints tolerations", "Write taints: […]"),
    Answer("zone availabilityzone availabilityzones azs nodezones", "Write zones: […]"),
    Answer("name", "Write clusterName: …"),
    Answer("kubernetesversion version k8sversion", "Write kubernetes: {version: …}"),
    Answer("deletionprotection", "Write security: {deletionProtection: true}"),
    Answer("autoscaler", "Write autoscaling: {autoscaler: …}"),
    # What is not supported.
    Answer("team", "Write teams: [research]"),
    Answer("teams", "Leave it out: teams is a key of the whole stack file and of gpuPools alone"),
    Answer(
        "vpc vpcid subnet subnetids vnet vnetid existingnetwork existingvpc networkid securitygroups natgateway",
        "Write network: {existing: {network: …, subnets: […]}}; or leave it out, and the program creates a network",
    ),
    Answer(
        "egress outboundtype firewall udr routetable routetables bastion vpn peering privatelink transitgateway",
        "Leave it out: nodes of an existing network (network.existing) leave by its routes, gateways and firewalls",
        "a choice of nodes' egress is",
    ),
    Answer(
        "existingcluster clusterid kubeconfig",
        "Leave it out; cloud: existing is for a cluster that is there (docs/existing-clusters.md)",
        "an existing cluster by this key is",
    ),
    Answer(
        "repair noderepair autorepair nodehealth nodemonitoringagent reaper", "Leave it out: broken nodes are replaced"
    ),
    Answer(
        "dra dynamicresourceallocation resourceclaims",
        "Leave it out: pods ask for nvidia.com/gpu, which the autoscalers count",
        "dynamic resource allocation (DRA) of GPUs is",
    ),
    Answer(
        "efa infiniband rdma gpudirect tcpx tcpxo nccl multinetworking",
        "Leave it out and keep each job on one node; with fabric: rdma, where the cloud has it, nodes have one network",
        "a network fabric between nodes by this key is",
    ),
    Answer(
        "placementgroup placementpolicy compactplacement proximityplacementgroup ppg",
        "Leave it out and keep each job on one node",
        "placing nodes close together is",
    ),
    Answer(
        "schedule schedules shutdown nightlyshutdown sleep cron workinghours officehours activehours",
        "Leave it out: GPU pools cost nothing without pods; `pulumi destroy` removes the rest",
        "a schedule for nodes is",
    ),
    Answer(
        "volcano kuberay ray kubeflow kserve slurm gpuoperator argo argocd flux velero certmanager mlflow airflow",
        "Leave it out, and install it with its own chart",
        "installing this in the cluster is",
    ),
    Answer(
        "auto automode autopilot mode nap nodeautoprovisioning autoprovisioning computeclasses karpenter",
        "Leave it out: the stack file names every pool; autoscaling.autoscaler chooses who scales them",
        "pools that the cloud makes by itself are",
    ),
    Answer(
        "warm standby buffer headroom overprovisioning warmpool",
        "Leave it out: an idle GPU node costs as much as a busy one",
        "keeping GPU nodes warm is",
    ),
    Answer(
        "expander expanders order priorities",
        "Leave it out: the smallest pool that fits comes first; capacity lists a pool's fallback order",
        "another order of pools is",
    ),
    Answer(
        "userdata customdata startupscript bootstrap bootstrapcommands",
        "Leave it out, and run a DaemonSet",
        "a start-up script for nodes by this key is",
    ),
    Answer(
        "arch architecture arm arm64 graviton cpuplatform",
        "Leave it out; machineType decides (docs/arm.md)",
        "a choice of the kind of CPU by this key is",
    ),
    Answer(
        "clusters multicluster",
        "Leave it out, and write a stack file for each cluster",
        "several clusters in one stack are",
    ),
    Answer(
        "regions multiregion secondaryregion locations",
        "Leave it out, and write a stack file for each region; `gpu fit --all` compares their clusters",
        "several regions in one stack are",
    ),
    Answer("maxpods maxpodspernode podspernode", "Leave it out", "the number of pods on a node by this key is"),
    Answer(
        "localssd localssds nvme instancestore scratch ephemeralstorage raid0",
        "Leave it out",
        "a local disk (NVMe, SSD) by this key is",
    ),
    Answer(
        "disktype volumetype disktypes diskiops osdisktype",
        "Leave it out; diskGb is the size",
        "another type of node disk is",
    ),
    Answer(
        "kubelet kubeletconfig sysctls sysctl hugepages cpumanagerpolicy",
        "Leave it out",
        "options of nodes by this key are",
    ),
    Answer("sandbox gvisor kata runtimeclass", "Leave it out, and use a namespace per team", "sandboxed pods are"),
    Answer(
        "mirror mirrors registrymirror containerd pullthroughcache",
        "Leave it out, and name the mirror in the images of your jobs",
        "a mirror of registries by this key is",
    ),
    Answer(
        "pullsecrets imagepullsecrets dockerconfig",
        "Leave it out, and create the secret in the jobs' namespace; workloads.registry needs none",
        "pull secrets are",
    ),
    Answer("backup backups backupplan", "Leave it out, and install Velero", "backup of the cluster is"),
    Answer("servicemesh mesh istio linkerd", "Leave it out, and install it with its own chart", "a service mesh is"),
    Answer(
        "ingress ingressclass ingresscontroller domain hostname tls certificates loadbalancer",
        "Leave it out, and reach services by `gpu forward`",
        "ingress from the internet by this key is",
    ),
    Answer("ipv6 dualstack ipfamily ipfamilies", "Leave it out: ranges are IPv4", "an IPv6 or dual-stack cluster is"),
    Answer("cni networkplugin cilium calico", "Leave it out; network.dataplane chooses where the cloud has a choice"),
    Answer(
        "networkpolicy networkpolicies",
        "Leave it out, and apply NetworkPolicy objects",
        "network policies by this key are",
    ),
    Answer(
        "podsecurity podsecuritystandards psp",
        "Leave it out: namespaces of teams and access admit no privileged pods",
        "a standard for the security of pods by this key is",
    ),
    Answer(
        "imageversion nodeimage ami amiid customimage osversion",
        "Leave it out: the cloud chooses a tested version of image",
        "a pinned image of nodes by this key is",
    ),
    Answer(
        "cuda cudaversion nvidiadriver toolkit",
        "Leave it out: CUDA is part of the jobs' images; driverVersion: latest is for newer drivers",
        "a version of CUDA by this key is",
    ),
    Answer(
        "project projectid account accountid subscription subscriptionid awsprofile profile credentials",
        "Leave it out: the account is the provider's own key beside those of gpucluster (docs/configuration.md)",
        "the account by this key is",
    ),
    Answer(
        "resourcegroup noderesourcegroup",
        "Leave it out: the program creates the stack's own group, so that a destroy leaves nothing",
        "a choice of the resource group is",
    ),
    Answer(
        "logs logging cloudwatch loganalytics datadog loki",
        "Leave it out (docs/workloads.md)",
        "a choice of logs by this key is",
    ),
    Answer(
        "ssh sshkey sshkeys publickey remoteaccess",
        "Leave it out: `kubectl debug node/<node> -it --image=busybox` opens a shell on a node",
        "logging in to nodes is",
    ),
    Answer(
        "proxy httpproxy httpproxyconfig", "Leave it out: nodes need a route to the internet", "a proxy by this key is"
    ),
    Answer(
        "monthlybudget teambudget costlimit",
        "Leave it out; budget: {maxHourlyUsd: …} limits the whole stack, and teams[].gpus a team",
        "a budget by this key is",
    ),
    # Values.
    Answer(
        "kubernetes k8s k3s rke2 kind minikube byo",
        "Write existing, for a cluster that is there (docs/existing-clusters.md)",
        of=("cloud",),
    ),
    Answer(
        "own onprem onpremises baremetal metal machines ubuntu debian",
        "Write kubeadm, and your machines in adminPool and gpuPools (docs/own-machines.md)",
        of=("cloud",),
    ),
    Answer(
        "volcano kuberay ray kubeflow kserve slurm gpuoperator argocd flux kaito velero certmanager istio nginx",
        "Leave it out, and install it with its own chart",
        of=("addons",),
    ),
)

_CLOUD_OF_PLUGIN: Final = {plain(plugin): cloud for cloud, plugin in PLUGINS.items()}
_COMPANIES: Final = {
    "google": "gcp",
    "googlecloud": "gcp",
    "amazon": "aws",
    "azure": "azurenative",
    "microsoft": "azurenative",
}
# A period in a key such as maxDailyUsd, without "ly" → its hours.
_HOURS: Final = {"hour": 1, "dai": 24, "day": 24, "week": 168, "month": HOURS_PER_MONTH, "year": 8760}
_AFFIX: Final = r"(max|limit|budget|cost|spend|usd|dollars?|eur|euros?|per)*"
_BUDGET: Final = re.compile(rf"{_AFFIX}(?P<period>{'|'.join(_HOURS)})(ly)?{_AFFIX}")


@dataclass(frozen=True)
class Words:
    """The answers for a stack file: those of its ``cloud`` come before those of all."""

    cloud: str | None = None
    autoscaler: str | None = None
    of_cloud: Sequence[Answer] = ()
    refused: Sequence[Refused] = ()

    def for_path(self, location: Sequence[int | str]) -> tuple[str, str] | None:
        """What the cloud's rows say of a key that this cloud's stack files do not have."""
        names = [step for step in location if isinstance(step, str)]
        path = ".".join(names)
        pools = ".".join(["pools", *names[1:]]) if names[0] in ("adminPool", "gpuPools", "cpuPools") else path
        rows = (row for row in self.refused if path in row.keys or pools in row.keys)
        return next(((row.message, row.remedy) for row in rows), None)

    def for_key(
        self, key: str, section_keys: Collection[str], around: Collection[str], *, value: object, in_pool: bool
    ) -> tuple[str, str] | None:
        """What is wrong with a key that its section does not have, and what to write instead; ``None`` if no row knows.

        Args:
            key: the key as written.
            section_keys: the keys of its section.
            around: the keys of the mappings that its section is in. A remedy writes one of these, a key of the section,
                or the file's ``raw``.
            value: what is written there.
            in_pool: whether it is a key of a pool.
        """
        word = plain(key)
        if (per_hour := _hourly_budget(word, value)) is not None and "maxHourlyUsd" in section_keys:
            return f"there is no key '{key}': the budget is in US dollars per hour", per_hour
        if word in map(plain, PLUGINS) and "raw" in section_keys:
            return f"there is no key '{key}'", "Write raw: {…}"
        plural = f"{word}s" in map(plain, section_keys)  # such as namespaces, which is what is meant
        for answer in self._answering(word, None, in_pool):
            if answer.key in section_keys or (not plural and answer.key in {"", *around, "raw"}):
                missing = f"{answer.unsupported} not supported" if answer.unsupported else f"there is no key '{key}'"
                return missing, answer.remedy
        return None

    def for_value(self, key: str, value: object) -> tuple[str, str] | None:
        """The same for a value of ``key`` that was refused. Of a list, one value is enough."""
        words = [
            plain(each) for each in (value if isinstance(value, list | tuple) else [value]) if isinstance(each, str)
        ]
        if key == "cloud" and words:
            meant = _CLOUD_OF_PLUGIN.get(_COMPANIES.get(words[0], words[0]))
            if meant is not None:
                return f"'{value}' is the name of a company or a provider", f"Write {meant}"
        answers = [answer for word in words for answer in self._answering(word, key, False)]
        return (f"{key} '{value}' is not supported", answers[0].remedy) if answers else None

    @property
    def rows(self) -> tuple[Answer, ...]:
        """All rows, the cloud's own first."""
        return (*self.of_cloud, *_EVERY)

    def _answering(self, word: str, of: str | None, in_pool: bool) -> list[Answer]:
        return [
            answer
            for answer in self.rows
            if (of in answer.of if of else not answer.of)
            and answer.autoscaler in (None, self.autoscaler)
            and answer.in_pool in (None, in_pool)
            and word in answer.words.split()
        ]

    def for_input(self, key: str, *, in_pool: bool) -> tuple[str, str] | None:
        """The answer to an input of the cloud's provider: ``raw`` takes it, or the program sets it or a part of it."""
        if self.cloud is None:
            return None
        known = catalog.of(self.cloud).choices.raw
        resource = known.pool if in_pool else known.cluster
        if in_pool and known.pool_of:
            return None  # which inputs there are depends on the autoscaler
        from schemas import schema  # a correct stack file needs no list of the provider's inputs

        provider = schema(self.cloud)
        inputs = provider.inputs(resource.token).properties
        blocks = {name: provider.objects[each.object] for name, each in inputs.items() if in_pool and each.object}
        inside = [name for name, block in blocks.items() if key in block.properties]
        if key not in inputs and not inside:
            return None
        path = key if key in inputs else f"{inside[0]}.{key}"
        if (remedy := resource.owner(path)) is not None:
            return f"the program sets the provider's input '{path}'", remedy
        if path == key and inputs[key].type not in ("object", "list", "map"):
            return None  # name, project, location …: the stack file has its own words for them
        written = f"{{{key}: …}}" if path == key else f"{{{inside[0]}: {{{key}: …}}}}"
        return f"there is no key '{key}'; the cloud's provider has an input of that name", f"Write raw: {written}"


def _hourly_budget(word: str, value: object) -> str | None:
    """The remedy for a budget with a period other than an hour."""
    match = _BUDGET.fullmatch(word)
    hours = _HOURS.get(match["period"]) if match is not None else None
    if hours is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or "eur" in word:
        return "Write maxHourlyUsd: …, US dollars" + (f" divided by {hours} hours" if hours > 1 else "")
    divided = f", which is {value:g} divided by {hours} hours" if hours > 1 else ""
    return f"Write maxHourlyUsd: {value / hours:.3g}{divided}"
