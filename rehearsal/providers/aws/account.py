"""What every simulated resource works with: clients of the in-process AWS, the machines' simulation, the catalogue."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from rehearsal.providers.aws.errors import ApiError
from rehearsal.providers.aws.store import ACCOUNT_ID, Store
from rehearsal.providers.aws.system import addon_namespace
from rehearsal.providers.aws.translate import botocore_session
from rehearsal.providers.base import ProviderError
from rehearsal.simulation import Fleet

if TYPE_CHECKING:
    from components.catalog.model import CloudCatalog

ADDON: Final = "aws:eks/addon:Addon"
POD_IDENTITY: Final = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
_READS: Final = ("Describe", "Get", "List")
_making_client = threading.Lock()


@dataclass(frozen=True)
class Account:
    """One simulated AWS account in one region. ``fleet`` is ``None`` where only previews are wanted.

    ``patience`` is how many seconds a resource waits for others that are made at the same time, where AWS waits
    many minutes. ``cancelled`` ends such a wait.
    """

    store: Store
    fleet: Fleet | None
    catalog: CloudCatalog
    region: str
    patience: float = 60.0
    cancelled: threading.Event = field(default_factory=threading.Event)
    id: str = ACCOUNT_ID
    partition: str = "aws"
    _clients: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False, compare=False)

    def client(self, service: str) -> Any:
        """A boto3 client (``ec2``, ``eks``, ``autoscaling`` …) whose requests moto answers in this process.

        Each request is one step: it takes its turn, and what it changed is on disk when it returns. botocore's own
        exceptions (``ParamValidationError``, ``ClientError``) come through.
        """
        key = service, self.region
        with _making_client:
            if key not in self._clients:
                client = _session().client(service, region_name=self.region)
                client.meta.events.register("before-send", partial(_answer, self.store, service, self.region))
                self._clients[key] = client
            return self._clients[key]

    def call(self, service: str, operation: str, **params: Any) -> dict[str, Any]:
        """One request (``CreateVpc``) without the parameters that are ``None``; raises :class:`ApiError`."""
        from botocore.exceptions import ClientError, ParamValidationError

        client = self.client(service)
        method = _method_name(operation)
        sent = {key: value for key, value in params.items() if value is not None}
        try:
            answer: dict[str, Any] = getattr(client, method)(**sent)
        except ClientError as error:
            details = error.response["Error"]
            raise ApiError(service, operation, details.get("Code", "?"), details.get("Message", "?")) from error
        except ParamValidationError as error:
            raise ApiError(service, operation, "ValidationError", str(error)) from error
        return answer

    def arn(self, service: str, resource: str, *, everywhere: bool = False) -> str:
        """An ARN in this account; ``everywhere`` for services without a region."""
        return f"arn:{self.partition}:{service}:{'' if everywhere else self.region}:{self.id}:{resource}"

    def machines(self) -> Fleet:
        """The fleet; raises :class:`ProviderError` where there is none."""
        if self.fleet is None:
            raise ProviderError("this rehearsal runs without a control plane: clusters can be previewed, not created")
        return self.fleet

    def pod_identity(self, cluster: str, namespace: str, service_account: str) -> str | None:
        """ARN of the role that EKS Pod Identity gives a service account's pods, or ``None``."""
        wanted = {"clusterName": cluster, "namespace": namespace, "serviceAccount": service_account}
        for record in self.store.all(POD_IDENTITY):
            if wanted.items() <= record.inputs.items():
                return str(record.inputs["roleArn"])
        for record in self.store.all(ADDON):
            # An add-on's associations are for service accounts of its own namespace.
            if record.inputs["clusterName"] == cluster and addon_namespace(record.inputs["addonName"]) == namespace:
                for association in record.inputs.get("podIdentityAssociations") or []:
                    if association["serviceAccount"] == service_account:
                        return str(association["roleArn"])
        return None


@lru_cache(maxsize=1)
def _session() -> Any:
    from boto3.session import Session

    # Not credentials: nothing leaves the process, but a request has to be signed with something.
    return Session(
        aws_access_key_id="simulated", aws_secret_access_key="simulated", botocore_session=botocore_session()
    )


@lru_cache(maxsize=1)
def _moto() -> Any:
    # Hundreds of images that no node here boots; every write of the state would contain them.
    os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    from moto.core.botocore_stubber import BotocoreStubber

    stubber = BotocoreStubber()
    stubber.enabled = True
    return stubber


@lru_cache(maxsize=512)
def _method_name(operation: str) -> str:
    from botocore import xform_name

    return str(xform_name(operation))


def _answer(store: Store, service: str, region: str, request: Any, event_name: str, **_: Any) -> Any:
    """moto's answer in the network's place; something that moto does not know never reaches the network either."""
    operation = event_name.rpartition(".")[2]
    with store.held():
        try:
            response = _moto()(event_name, request)
        except NotImplementedError:
            response = None
        if response is None:
            raise ProviderError(f"aws: the request {service}:{operation} is not simulated")
        if not operation.startswith(_READS) and response.status_code < 300:
            store.changed(service, region, operation)
    return response
