"""The AWS API of a rehearsal: an HTTP server for controllers, on top of moto and the provider's records.

EKS Pod Identity gives a pod temporary credentials of its association's role for its service account's token. In a
cluster that is the agent's address http://169.254.170.23/v1/credentials, and behind it the EKS Auth API's
AssumeRoleForPodIdentity: https://docs.aws.amazon.com/eks/latest/APIReference/API_auth_AssumeRoleForPodIdentity.html.
How the agent words an error: https://github.com/aws/eks-pod-identity-agent/blob/main/pkg/errors/errors.go. EKS's own
message inside it is not documented, so that is ours.
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rehearsal.providers.eks.authorization import identity as identities
from rehearsal.providers.eks.authorization.needs import needed, refusal
from rehearsal.providers.eks.aws_api import backend, wire
from rehearsal.providers.eks.aws_api.gaps import reads
from rehearsal.providers.eks.cloud import Account
from rehearsal.providers.eks.network import CLUSTER
from rehearsal.simulation import Fleet

if TYPE_CHECKING:
    from moto.core.request import Request as HttpRequest
    from werkzeug.wrappers import Response

AUDIENCE: Final = identities.POD_IDENTITY_SERVICE
"""Of the token that a pod presents."""

_SUBJECT: Final = "system:serviceaccount:"
_POD: Final = "authentication.kubernetes.io/pod-"


LOG_NAME: Final = "aws-calls.jsonl"
_HOST: Final = "127.0.0.1"
_AGENT_PATH: Final = "/v1/credentials"
_DIRECTORY: Final = "/var/run/secrets/pods.eks.amazonaws.com/serviceaccount"
_log = logging.getLogger("rehearsal.aws.server")


class AwsServer:
    """Answers signed requests to AWS, and the Pod Identity agent's, on a free port of this machine.

    Args:
        account: whose state it serves; the provider's own requests take turns with the server's.
        fleet: knows what a pod's token is worth.
        logs: the folder of ``aws-calls.jsonl``.
    """

    def __init__(self, account: Account, fleet: Fleet, logs: Path) -> None:
        self._account = account
        self._callers = identities.Callers(account)
        self._roles = identities.Roles(account)
        self._fleet = fleet
        self._log_file = logs / LOG_NAME
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._server: Any = None
        self._ended = threading.Event()

    @property
    def endpoint(self) -> str:
        """``AWS_ENDPOINT_URL`` for programs on this machine; starts the server if need be."""
        return f"http://{_HOST}:{self._start().server_port}"

    def pod_environment(self, namespace: str, service_account: str) -> dict[str, str]:
        """What a container of such a pod gets in its environment to reach AWS.

        That is the server's address and the region, and with a Pod Identity association the agent's address and the
        file of a token for the audience ``pods.eks.amazonaws.com``, bound to the pod:
        https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html.
        """
        endpoint = self.endpoint
        clusters, identity = self._account.store.all(CLUSTER), self._account.pod_identity
        region = str(clusters[0].outputs["region"]) if clusters else self._account.region
        environment = {"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": region, "AWS_DEFAULT_REGION": region}
        if any(identity(each.id, namespace, service_account) for each in clusters):
            environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = endpoint + _AGENT_PATH
            environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = f"{_DIRECTORY}/eks-pod-identity-token"
        return environment

    def stop(self) -> None:
        """End the server; requests under way are cut off."""
        self._ended.set()
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def _start(self) -> Any:
        with self._lock:
            if self._server is None:
                from werkzeug.serving import WSGIRequestHandler, make_server

                class Quiet(WSGIRequestHandler):
                    protocol_version = "HTTP/1.1"

                    def log(self, type: str, message: str, *args: Any) -> None:
                        """The calls have a log of their own."""

                self._server = make_server(_HOST, 0, self._application, threaded=True, request_handler=Quiet)
                self._server.daemon_threads = True
                threading.Thread(target=self._server.serve_forever, name="aws-server", daemon=True).start()
            return self._server

    def _application(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        from moto.core.request import Request

        http = Request(environ)
        try:
            response = self._agent(http) if http.path == _AGENT_PATH else self._aws(http)
        except Exception as error:
            _log.exception("%s %s", http.method, http.path)
            response = _plain(500, f"the rehearsal's AWS failed: {error!r}")
        return response(environ, start_response)

    def _agent(self, http: HttpRequest) -> Response:
        try:
            credentials = self._credentials(http.headers.get("Authorization", ""))
        except identities.PodIdentityError as error:
            # Without an agent, nothing listens.
            message = f"[{uuid.uuid4()}]: ({error.code}): {error}, fault: client"
            return _plain(error.status, f"connection refused: {error}" if error.status == 503 else message)
        return _plain(200, json.dumps(credentials), "application/json")

    def _credentials(self, token: str) -> Mapping[str, Any]:
        """What the agent answers to a pod that presents ``token``. Raises PodIdentityError: the agent's refusal."""
        if not token:  # which the API server does not review
            raise identities.PodIdentityError(400, "InvalidTokenException", "The token is not valid: there is none")
        status = self._fleet.review_token(token, AUDIENCE)
        user = status.get("user") or {}
        namespace, _, service_account = str(user.get("username") or "").removeprefix(_SUBJECT).partition(":")
        if not status.get("authenticated") or not service_account:
            reason = status.get("error") or "it is no service account's"
            raise identities.PodIdentityError(400, "InvalidTokenException", f"The token is not valid: {reason}")
        cluster = self._account.store.all(CLUSTER)[0]
        role = self._roles.of_pod(self._fleet, cluster, namespace, service_account)
        pod, uid = (next(iter((user.get("extra") or {}).get(f"{_POD}{key}") or ()), "") for key in ("name", "uid"))
        # https://docs.aws.amazon.com/eks/latest/userguide/pod-id-abac.html
        tags = {
            "eks-cluster-arn": str(cluster.outputs["arn"]),
            "eks-cluster-name": cluster.id,
            "kubernetes-namespace": namespace,
            "kubernetes-service-account": service_account,
            "kubernetes-pod-name": pod,
            "kubernetes-pod-uid": uid,
        }
        keys = self._callers.assume(role.arn, f"eks-{cluster.id}-{pod}-{uuid.uuid4()}", tags)
        return {
            **{key: keys[key] for key in ("AccessKeyId", "SecretAccessKey")},
            "Token": keys["SessionToken"],
            "AccountId": self._account.id,
            "Expiration": keys["Expiration"].isoformat().replace("+00:00", "Z"),
        }

    def _aws(self, http: HttpRequest) -> Response:
        try:
            call = wire.read(http)
        except wire.NotAwsError as error:
            return _plain(501, str(error))
        caller = self._callers.of(call.access_key, call.session_token)
        if caller is None:
            self._note(call, call.access_key, "denied", missing="credentials that AWS gave out")
            return call.denied("The security token included in the request is invalid.")
        return self._answered(call, caller)

    def _answered(self, call: wire.Call, caller: identities.Caller) -> Response:
        there = replace(self._account, region=call.region)
        with self._account.store.held():
            rights = needed(identities.Operation(there, call.params), call.service, call.operation)
            if rights is None:
                return self._not_evaluated(call, caller)
            on = tuple(dict.fromkeys(right.resource for right in rights if right.resource != "*"))
            denied = self._refusal(caller, rights)
        if denied:
            self._note(call, caller.arn, "denied", resources=on, missing=denied)
            return call.denied(denied)
        if (call.service, call.operation) == ("sqs", "ReceiveMessage"):
            reads.wait(there, call.params, self._ended)
        answer = backend.answer(self._account, call, lambda further: self._further(caller, further))
        if answer is None:
            message = f"the rehearsal does not simulate {call.service}:{call.operation}"
            self._note(call, caller.arn, "not simulated", resources=on, error=message)
            return call.error("NotImplemented", message, 501)
        status, headers, body = answer
        # EC2's way to say yes to a dry run is an error.
        failed = status >= 300 and b"<Code>DryRunOperation</Code>" not in body
        error = body.decode() if failed else ""
        self._note(call, caller.arn, "failed" if failed else "allowed", resources=on, error=error)
        return _response(status, headers, body)

    def _not_evaluated(self, call: wire.Call, caller: identities.Caller) -> Response:
        action = f"{call.service}:{call.operation}"
        missing = f"not evaluated: the rehearsal has no table entry for the permissions that {action} needs"
        self._note(call, caller.arn, "denied", missing=missing)
        message = f"User: {caller.arn} is not authorized to perform: {action}; {missing}"
        return call.denied(message)

    def _further(self, caller: identities.Caller, rights: Iterable[identities.Right]) -> str:
        region = {"aws:RequestedRegion": self._account.region}
        return self._refusal(caller, [replace(each, context={**region, **each.context}) for each in rights])

    def _refusal(self, caller: identities.Caller, rights: Iterable[identities.Right]) -> str:
        return refusal(caller, self._roles.get(caller.role), rights)

    def _note(self, call: wire.Call, who: str, verdict: str, **more: Any) -> None:
        """Log one call with the time, in UTC. ``who`` is an ARN, or an unknown access key.

        ``verdict`` is ``allowed``, ``denied``, ``failed`` (the caller may make the call, and AWS refused it for another
        reason) or ``not simulated``. ``missing`` is the right that the caller lacks, or why the call was not evaluated;
        ``error`` is AWS's answer to a call that was not allowed; ``resources`` are ARNs.
        """
        entry = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "who": who,
            "service": call.service,
            "operation": call.operation,
            "region": call.region,
            "verdict": verdict,
            **{key: value for key, value in more.items() if value},
        }
        with self._turn:
            self._log_file.parent.mkdir(parents=True, exist_ok=True)
            with self._log_file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


def _response(status: int, headers: Mapping[str, Any], body: bytes) -> Response:
    from werkzeug.wrappers import Response

    forwarded = {key: str(value) for key, value in headers.items() if key.lower() not in ("status", "content-length")}
    return Response(body, status, forwarded)


def _plain(status: int, text: str, content_type: str = "text/plain") -> Response:
    return _response(status, {"Content-Type": content_type}, text.encode())
