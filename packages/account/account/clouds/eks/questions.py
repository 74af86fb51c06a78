"""What an account of AWS is asked before ``pulumi up``. Every request reads.

https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_testing-policies.html for the rights: the simulation
knows no service control policies of resources and no conditions that depend on a request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from account.asking import DENIED, AccountError, AccountFacts, AccountQuestion, of_own_clusters
from account.clouds.eks import rights
from account.rows import ShownRow
from account.shared_rows import machine_rows, machine_types, overlap_row, quota_row, quota_title, rights_row
from components.settings import Settings
from components.settings.quotas import quotas
from facts.catalog.model import Quota
from facts.concepts.counts import counted
from facts.concepts.unknown import at

_CODE: Final = re.compile(r"L-[0-9A-F]{8}")
_EBS: Final = {"L-7A658B76": 1024}
"""Quotas of EBS, and their unit: GB of what we count. https://docs.aws.amazon.com/ebs/latest/userguide/ebs-resource-quotas.html"""
_DENIED: Final = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError")
_ACTIONS_AT_ONCE: Final = 50
_ROLE_SESSION: Final = re.compile(r"arn:(?P<partition>[^:]+):sts::(?P<account>\d+):assumed-role/(?P<role>[^/]+)/.+")


class AwsAccount:
    """One account, in the stack's region. ``facts`` are filled while questions are answered."""

    def __init__(self, settings: Settings, session: Any = None) -> None:
        """``session``: of boto3; default: that of the user's environment.

        Raises AccountError: boto3 is not installed, or nobody is logged in.
        """
        try:
            import boto3
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError as error:
            raise AccountError("boto3 is not installed: run `make setup-account`") from error
        self.facts = AccountFacts()
        self._settings = settings
        self._session = session or boto3.Session(region_name=settings.region)
        self._clients: dict[str, Any] = {}
        try:
            identity = self._client("sts").get_caller_identity()
        except (BotoCoreError, ClientError) as error:
            raise AccountError(f"AWS does not know who you are: {error}. Log in, as with `aws sso login`") from error
        self.id, self.arn = str(identity["Account"]), str(identity["Arn"])
        self.partition = self.arn.split(":")[1]

    @property
    def caller(self) -> str:
        """The account and the principal."""
        return f"account {self.id}, as {self.arn}"

    def unanswered(self, error: Exception) -> str | None:
        """Why AWS has not answered; ``None`` for what is no error of AWS's SDK."""
        from botocore.exceptions import BotoCoreError, ClientError

        if isinstance(error, ClientError):
            code, message = (str(at(error.response, "Error", key) or "") for key in ("Code", "Message"))
            return DENIED if code in _DENIED else f"AWS answers {code}: {message}"
        return str(error) if isinstance(error, BotoCoreError) else None

    def how_to_grant(self, files: Sequence[str]) -> Iterator[str]:
        """The commands that give a deployer's role the rights in these files."""
        for number, file in enumerate(files, 1):
            name = f"gpucluster-{self._settings.stack}-{number}"
            yield f"aws iam create-policy --policy-name {name} --policy-document file://{file}"
            arn = f"arn:{self.partition}:iam::{self.id}:policy/{name}"
            yield f"aws iam attach-role-policy --role-name ROLE --policy-arn {arn}"

    def documents(self) -> Sequence[Mapping[str, Any]]:
        """The deployer's rights as policy documents, each within the size of a managed policy."""
        return rights.documents(self._settings, self.partition, self.id)

    def questions(self) -> Iterator[AccountQuestion]:
        """All of them."""
        region = self._settings.region
        yield AccountQuestion(
            id="zones", title=f"the zones of {region}", right="ec2:DescribeAvailabilityZones", ask=self._zones
        )
        yield AccountQuestion(
            id="machines",
            title="the machines are offered in the zones",
            right="ec2:DescribeInstanceTypeOfferings",
            ask=self._machines,
        )
        for quota in quotas(self._settings):
            yield AccountQuestion(
                id=f"quota:{quota.name}",
                title=quota_title(quota),
                right="servicequotas:GetServiceQuota",
                ask=lambda quota=quota: self._quota(quota),
            )
        yield AccountQuestion(
            id="names", title="no other cluster has the name", right="eks:DescribeCluster", ask=self._cluster_name
        )
        yield AccountQuestion(id="roles", title="no role is left over", right="iam:ListRoles", ask=self._role_names)
        reservations = sorted({pool.scaling.reservation for pool in self._settings.gpu_pools} - {None}, key=str)
        for reservation in reservations:
            yield AccountQuestion(
                id=f"reservation:{reservation}",
                title=f"reservation {reservation} is the pools'",
                right="ec2:DescribeCapacityReservations",
                ask=lambda name=str(reservation): self._reservation(name),
            )
        yield AccountQuestion(
            id="network", title="addresses of the network", right="ec2:DescribeVpcs", ask=self._network
        )
        security = self._settings.security
        for key in filter(None, dict.fromkeys((security.kms_key, security.disk_key))):
            yield AccountQuestion(
                id=f"key:{key}",
                title=f"key {key} can be used",
                right="kms:DescribeKey",
                ask=lambda key=key: self._key(str(key)),
            )
        if security.permissions_boundary is not None:
            yield AccountQuestion(
                id="boundary",
                title="the permissions boundary exists",
                right="iam:GetPolicy",
                ask=lambda: self._boundary(str(security.permissions_boundary)),
            )
        yield AccountQuestion(
            id="rights", title="the deployer's rights", right="iam:SimulatePrincipalPolicy", ask=self._rights
        )

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self._session.client(service, region_name=self._settings.region)
        return self._clients[service]

    @property
    def _ec2(self) -> Any:
        return self._client("ec2")

    def _zones(self) -> Iterator[ShownRow]:
        answer = self._ec2.describe_availability_zones(AllAvailabilityZones=True)["AvailabilityZones"]
        known = {zone["ZoneName"]: zone for zone in answer}
        for name in self._settings.node_zones:
            zone, row = known.get(name), {"id": f"zone:{name}", "title": f"zone {name} can be used"}
            if zone is None:
                others = ", ".join(sorted(name for name, zone in known.items() if _usable(zone)))
                remedy = f"write any of {others} in `zones`"
                yield ShownRow(**row, result="failed", detail="your account has no such zone", remedy=remedy)
            elif not _usable(zone):
                group = f"--group-name {zone.get('GroupName')} --opt-in-status opted-in"
                remedy = f"aws ec2 modify-availability-zone-group {group}"
                detail = f"{zone.get('State')}, {zone.get('OptInStatus')}"
                yield ShownRow(**row, result="failed", detail=detail, remedy=remedy)
            else:
                yield ShownRow(**row, result="shown", detail="available")

    def _machines(self) -> Iterator[ShownRow]:
        wanted = machine_types(self._settings)
        offered: dict[str, set[str]] = {type: set() for type in wanted}
        pages = self._ec2.get_paginator("describe_instance_type_offerings").paginate(
            LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": wanted}]
        )
        for offering in (each for page in pages for each in page["InstanceTypeOfferings"]):
            offered[offering["InstanceType"]].add(offering["Location"])
        yield from machine_rows(self._settings, offered)

    def _quota(self, quota: Quota) -> Iterator[ShownRow]:
        limits = {code: self._limit(code) for code in _CODE.findall(quota.name)}
        code, limit = min(limits.items(), key=lambda item: item[1])
        self.facts.quotas[quota.name] = int(limit)
        factor = _EBS.get(code, 1)
        remedy = (
            f"aws service-quotas request-service-quota-increase --service-code {_service(code)} --quota-code {code} "
            f"--desired-value {-(-quota.needed // factor)} --region {self._settings.region}"
        )
        yield quota_row(quota, limit, remedy)

    def _limit(self, code: str) -> float:
        """In the unit that the stack counts. An account without a value of its own has AWS's."""
        from botocore.exceptions import ClientError

        client, asked = self._client("service-quotas"), {"ServiceCode": _service(code), "QuotaCode": code}
        try:
            value = client.get_service_quota(**asked)["Quota"]["Value"]
        except ClientError as error:
            if at(error.response, "Error", "Code") != "NoSuchResourceException":
                raise
            value = client.get_aws_default_service_quota(**asked)["Quota"]["Value"]
        return float(value) * _EBS.get(code, 1)

    def _cluster_name(self) -> Iterator[ShownRow]:
        from botocore.exceptions import ClientError

        name = self._settings.cluster_name
        row = {"id": "names", "title": f"no other cluster is called {name}"}
        try:
            cluster = self._client("eks").describe_cluster(name=name)["cluster"]
        except ClientError as error:
            if at(error.response, "Error", "Code") != "ResourceNotFoundException":
                raise
            yield ShownRow(**row, result="shown", detail=f"none in {self._settings.region}")
            return
        remedy = "if this stack is not deployed yet, write another `clusterName`"
        yield ShownRow(**row, result="warning", detail=f"{cluster['arn']} exists", remedy=remedy)

    def _role_names(self) -> Iterator[ShownRow]:
        name = self._settings.cluster_name
        path = self._settings.security.role_path or "/"
        pages = self._client("iam").get_paginator("list_roles").paginate(PathPrefix=path)
        found = sorted(
            role["RoleName"] for page in pages for role in page["Roles"] if role["RoleName"].startswith(f"{name}-")
        )
        row = {"id": "roles", "title": f"roles {name}-…"}
        if not found:
            yield ShownRow(**row, result="shown", detail="none exists, so none is in the way")
            return
        detail = f"exist: {', '.join(found)}. If the stack is not deployed, its update fails at them"
        remedy = "delete them if nothing uses them: `aws iam delete-role --role-name NAME`"
        yield ShownRow(**row, result="warning", detail=detail, remedy=remedy)

    def _reservation(self, name: str) -> Iterator[ShownRow]:
        pools = [pool for pool in self._settings.gpu_pools if pool.scaling.reservation == name]
        row = {"id": f"reservation:{name}", "title": f"reservation {name} has machines of {pools[0].name}"}
        if not name.startswith("cr-"):
            yield ShownRow(**row, result="not shown", detail="only ids of reservations (cr-…) are asked for")
            return
        (found,) = self._ec2.describe_capacity_reservations(CapacityReservationIds=[name])["CapacityReservations"]
        total = int(found["TotalInstanceCount"])
        self.facts.reservations = {**(self.facts.reservations or {}), name: total}
        problems = [*_unfit(found, pools)]
        if problems:
            remedy = "write the reservation's own zone, type and number into the pool"
            yield ShownRow(**row, result="failed", detail="; ".join(problems), remedy=remedy)
        else:
            detail = f"{counted(total, 'machine')} of {found['InstanceType']} in {found['AvailabilityZone']}"
            yield ShownRow(**row, result="shown", detail=f"{detail}, {found['State']}")

    def _network(self) -> Iterator[ShownRow]:
        existing = self._settings.network.existing
        if existing is not None:
            yield from self._existing(existing.network, existing.subnets)
            return
        pages = self._ec2.get_paginator("describe_vpcs").paginate()
        others = (
            (vpc["VpcId"], each["CidrBlock"])
            for page in pages
            for vpc in page["Vpcs"]
            if not self._is_own(vpc)
            for each in vpc.get("CidrBlockAssociationSet") or ()
        )
        yield overlap_row(self._settings, others, f"the networks of {self._settings.region}")

    def _is_own(self, vpc: Mapping[str, Any]) -> bool:
        """By the name that the program gives its network."""
        tags = {each["Key"]: each["Value"] for each in vpc.get("Tags") or ()}
        return tags.get("Name") == self._settings.cluster_name

    def _existing(self, network: str, subnets: Sequence[str]) -> Iterator[ShownRow]:
        vpcs = self._ec2.describe_vpcs(Filters=[{"Name": "vpc-id", "Values": [network]}])["Vpcs"]
        row = {"id": "network", "title": f"network {network} exists with its subnets"}
        found = self._ec2.describe_subnets(Filters=[{"Name": "subnet-id", "Values": [*subnets]}])["Subnets"]
        known = {each["SubnetId"]: each["VpcId"] for each in found}
        problems = [
            *([] if vpcs else [f"{network} is not there"]),
            *(f"{each} is not there" for each in subnets if each not in known),
            *(f"{each} is in {vpc}" for each, vpc in known.items() if vpc != network),
        ]
        if problems:
            remedy = "correct `network.existing`"
            yield ShownRow(**row, result="failed", detail="; ".join(problems), remedy=remedy)
        else:
            yield ShownRow(**row, result="shown", detail=counted(len(subnets), "subnet"))

    def _key(self, key: str) -> Iterator[ShownRow]:
        state = self._client("kms").describe_key(KeyId=key)["KeyMetadata"]["KeyState"]
        row = {"id": f"key:{key}", "title": f"key {key} can be used"}
        if state == "Enabled":
            self.facts.keys = [*(self.facts.keys or ()), key]
            yield ShownRow(**row, result="shown", detail=state)
        else:
            remedy = f"aws kms enable-key --key-id {key} (or `cancel-key-deletion` first)"
            yield ShownRow(**row, result="failed", detail=f"its state is {state}", remedy=remedy)

    def _boundary(self, arn: str) -> Iterator[ShownRow]:
        row = {"id": "boundary", "title": f"permissions boundary {arn} exists"}
        try:
            self._client("iam").get_policy(PolicyArn=arn)
        except self._client("iam").exceptions.NoSuchEntityException:
            remedy = "correct `security.permissionsBoundary`, or create the policy"
            yield ShownRow(**row, result="failed", detail="it is not there", remedy=remedy)
            return
        yield ShownRow(**row, result="shown", detail="a policy")

    def _rights(self) -> Iterator[ShownRow]:
        row = {"id": "rights", "title": "the deployer has the rights that the stack needs"}
        principal = self._principal()
        if principal is None:
            detail = f"AWS simulates the rights of users and roles only, and you are {self.arn}"
            yield ShownRow(**row, result="not shown", detail=detail)
            return
        needed = rights.actions(self._settings)
        missing = sorted({*self._missing(principal)})
        self.facts.missing_rights = missing
        remedy = "attach the policies of the file below; a policy that limits more than they do counts as missing"
        yield rights_row(row, needed, missing, "actions, simulated", remedy)

    def _principal(self) -> str | None:
        session = _ROLE_SESSION.fullmatch(self.arn)
        if session is not None:
            return str(self._client("iam").get_role(RoleName=session["role"])["Role"]["Arn"])
        return self.arn if ":user/" in self.arn or ":role/" in self.arn else None

    def _missing(self, principal: str) -> Iterator[str]:
        pages = self._client("iam").get_paginator("simulate_principal_policy")
        for needed, resource, values in rights.requests(self._settings, self.partition, self.id):
            context = [
                {"ContextKeyName": key, "ContextKeyType": "string", "ContextKeyValues": [value]}
                for key, value in values.items()
            ]
            for start in range(0, len(needed), _ACTIONS_AT_ONCE):
                some = [*needed[start : start + _ACTIONS_AT_ONCE]]
                asked = {"ActionNames": some, "ResourceArns": [resource], "ContextEntries": context}
                for page in pages.paginate(PolicySourceArn=principal, **asked):
                    for result in page["EvaluationResults"]:
                        if result["EvalDecision"] != "allowed":
                            yield str(result["EvalActionName"])


def opened(settings: Settings) -> AwsAccount:
    """The account of the user's environment. Raises AccountError."""
    of_own_clusters(settings)
    return AwsAccount(settings)


def _usable(zone: Mapping[str, Any]) -> bool:
    return zone.get("State") == "available" and zone.get("OptInStatus") != "not-opted-in"


def _service(code: str) -> str:
    return "ebs" if code in _EBS else "ec2"


def _unfit(reservation: Mapping[str, Any], pools: Sequence[Any]) -> Iterator[str]:
    """In what a reservation does not suit its pools."""
    if reservation["State"] not in ("active", "scheduled", "assessing", "payment-pending"):
        yield f"its state is {reservation['State']}"
    for pool in pools:
        if reservation["InstanceType"] not in pool.nodes.machine_types:
            yield f"it has {reservation['InstanceType']}, pool {pool.name} asks for {pool.nodes.machine_type}"
        if reservation["AvailabilityZone"] not in pool.nodes.zones:
            yield f"it is in {reservation['AvailabilityZone']}, pool {pool.name} in {', '.join(pool.nodes.zones)}"
        block, end = pool.scaling.block, reservation.get("EndDate")
        if block is not None and end is not None and f"{end:%Y-%m-%d}" < block.last:
            yield f"it ends on {end:%Y-%m-%d}, pool {pool.name} says {block.last}"
    most = max((pool.scaling.reserved_nodes for pool in pools), default=0)
    if int(reservation["TotalInstanceCount"]) < most:
        yield f"it has {reservation['TotalInstanceCount']} machines, the stack says {most}"
