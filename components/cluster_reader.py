"""Reads a cluster through its API server: it changes nothing there.

It asks as the user of a kubeconfig of the program (``facts/concepts/kubeconfig.py``), whose token a credential plugin
prints: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins. A cluster
without such logins has a client certificate or a token for its users.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

from typing_extensions import override

from facts.concepts.credentials import hidden

Object = dict[str, Any]

# Webhooks of admission may take as long:
# https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#timeouts
_SECONDS: Final = 30.0
_ADDRESS_SECONDS: Final = 10.0
# As client-go does: https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
_BUSY: Final = (429, 503)
_ATTEMPTS: Final = 4
_LONGEST_WAIT: Final = 10.0
_PLUGIN_SECONDS: Final = 60.0
# Level, time, thread and line of code: https://github.com/kubernetes/klog/blob/main/klog.go (formatHeader)
_LOG_HEADER: Final = re.compile(r"[IWEF]\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] ")
_PAGE: Final = 500
_MOST_PAGES: Final = 2000  # a server may send pages without an end, and empty ones are lawful
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_APPLY: Final = "application/apply-patch+yaml"
_MANAGER: Final = "gpucluster"
# By default a field that the kind does not have, or not yet, is dropped:
# https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation
_TRY: Final = {"dryRun": "All", "fieldValidation": "Strict"}


class SilentServerError(Exception):
    """The API server does not answer, or the user cannot log in; the message is the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(hidden(message))


class RefusedRequestError(Exception):
    """The API server's answer is an error; ``status`` is that of HTTP. A webhook may have written its words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(hidden(message))
        self.status = status


class ClusterReader:
    """Every method may raise ``SilentServerError`` or ``RefusedRequestError``. Thread-safe."""

    def __init__(self, kubeconfig: str) -> None:
        """``kubeconfig``: JSON with one context."""
        loaded = json.loads(kubeconfig)
        self._cluster: Mapping[str, Any] = loaded["clusters"][0]["cluster"]
        self._user: Mapping[str, Any] = loaded["users"][0]["user"]

    def version(self) -> Object:
        """What the API server says of itself: whether this is its address."""
        return self._send("GET", "/version", seconds=_ADDRESS_SECONDS)

    def get(self, path: str, **query: str) -> Object:
        """One object, or a list."""
        return self._send("GET", path, query=query)

    def find(self, path: str) -> Object | None:
        """One object; ``None`` if it, or its kind, does not exist."""
        try:
            return self.get(path)
        except RefusedRequestError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str, **query: str) -> Iterator[Object]:
        """The objects of a list, page by page."""
        more: dict[str, str] = {}
        for _ in range(_MOST_PAGES):
            page = self.get(path, limit=str(_PAGE), **more, **query)
            yield from page.get("items") or ()
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return
            more = {"continue": token}
        raise SilentServerError(f"the list {path} has no end")

    def may(self, attributes: Mapping[str, str]) -> bool:
        """Whether the user has a right: ``group``, ``resource``, ``verb``, and perhaps ``namespace`` and ``name``.

        https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
        """
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": dict(attributes)},
        }
        return bool(self._send("POST", _REVIEWS, review)["status"].get("allowed"))

    def try_create(self, path: str, manifest: Mapping[str, Any]) -> None:
        """Whether the API server would take a new object, by a dry run: ``RefusedRequestError`` if not.

        https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
        """
        self._send("POST", path, manifest, query=_TRY)

    def try_apply(self, path: str, manifest: Mapping[str, Any]) -> None:
        """The same for an object that exists."""
        query = {**_TRY, "fieldManager": _MANAGER, "force": "true"}
        self._send("PATCH", path, manifest, query=query, content=_APPLY)

    @cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        """Connections by the kubeconfig's proxy, or those of the environment, as kubectl's, which has none to this
        machine."""
        authority = self._cluster.get("certificate-authority-data")
        tls = _Tls(ssl.PROTOCOL_TLS_CLIENT)
        tls.server_name = self._cluster.get("tls-server-name") or None
        # As Go does, trust each named certificate, also one that another signed. Authorities of older clusters lack
        # identifiers of keys, which only VERIFY_X509_STRICT asks for.
        tls.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if authority:
            tls.load_verify_locations(cadata=base64.b64decode(authority).decode())
        else:
            tls.load_default_certs()
        if self._cluster.get("insecure-skip-tls-verify"):
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        host = urlsplit(self._cluster["server"]).hostname or ""
        if "client-certificate-data" in self._user:
            _add_certificate(tls, self._user)
        here = host == "localhost" or host.startswith("127.") or host == "::1"
        direct = [urllib.request.ProxyHandler({})] if here or self._proxy else []
        return urllib.request.build_opener(urllib.request.HTTPSHandler(context=tls), _NoRedirects, *direct)

    @cached_property
    def _proxy(self) -> SplitResult | None:
        """The kubeconfig's own, for which exceptions of the environment do not count."""
        proxy = urlsplit(str(self._cluster.get("proxy-url") or ""))
        if not proxy.geturl():
            return None
        if proxy.scheme != "http" or not proxy.hostname:
            named = f"{self._cluster['server']} has the proxy-url {proxy.scheme}://{proxy.hostname or ''}"
            raise SilentServerError(
                f"{named} in the kubeconfig: write one that begins with http://, as no other works here"
            )
        return proxy

    @cached_property
    def _token(self) -> str:
        """The user's own token, or the credential plugin's."""
        if "token" in self._user:
            return str(self._user["token"])
        plugin: Mapping[str, Any] = self._user["exec"]
        command, hint = str(plugin["command"]), plugin.get("installHint") or ""
        version, own = str(plugin["apiVersion"]), {each["name"]: each["value"] for each in plugin.get("env") or ()}
        spec = {"interactive": False, "cluster": dict(self._cluster)}
        asked = json.dumps({"apiVersion": version, "kind": "ExecCredential", "spec": spec})
        try:
            answer = subprocess.run(
                [command, *(plugin.get("args") or ())],
                env={**os.environ, **own, "KUBERNETES_EXEC_INFO": asked},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PLUGIN_SECONDS,
                check=True,
            )
            return str(json.loads(answer.stdout)["status"]["token"])
        except FileNotFoundError:
            raise SilentServerError(f"{command} is not on PATH. {hint}") from None
        except subprocess.CalledProcessError as error:
            # Plugins say why in their last line, after traces of what they tried.
            said = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise SilentServerError(f"{command} cannot log in: {_LOG_HEADER.sub('', said, count=1)}") from None
        except subprocess.TimeoutExpired:
            raise SilentServerError(f"{command} has not answered for {_PLUGIN_SECONDS:.0f} seconds") from None
        except (KeyError, TypeError, ValueError):
            raise SilentServerError(f"{command} prints no token") from None

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "application/json",
        seconds: float = _SECONDS,
    ) -> Object:
        url = f"{self._cluster['server']}{quote(path)}" + (f"?{urlencode(query)}" if query else "")
        headers = {"Accept": "application/json", "Content-Type": content}
        if self._user.keys() & {"exec", "token"}:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers, method=method)
        if proxy := self._proxy:
            request.set_proxy(proxy.netloc.rpartition("@")[2], proxy.scheme)
            if proxy.username is not None:
                login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
                request.add_header("Proxy-Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
        try:
            for attempt in range(_ATTEMPTS):
                try:
                    with self._opener.open(request, timeout=seconds) as response:
                        answer: Object = json.load(response)
                        return answer
                except urllib.error.HTTPError as error:
                    if error.code not in _BUSY or attempt == _ATTEMPTS - 1:
                        raise RefusedRequestError(error.code, _message(error)) from None
                    time.sleep(_wait(error))
            raise AssertionError("the last attempt returns or raises")
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise SilentServerError(f"no answer from {self._cluster['server']}{path}: {reason}") from None


def _add_certificate(tls: ssl.SSLContext, user: Mapping[str, Any]) -> None:
    """The user's certificate and key. Python reads them from a file alone, which nobody else can read and which goes at
    once."""
    with tempfile.NamedTemporaryFile() as file:
        for key in ("client-certificate-data", "client-key-data"):
            file.write(base64.b64decode(user[key]) + b"\n")
        file.flush()
        tls.load_cert_chain(file.name)


def _wait(error: urllib.error.HTTPError) -> float:
    """Seconds until the next attempt, as the server says."""
    try:
        return min(float(error.headers.get("Retry-After", "1")), _LONGEST_WAIT)
    except ValueError:
        return 1.0


class _Tls(ssl.SSLContext):
    """``server_name``: the name in the server's certificate, if it is not that of its address."""

    server_name: str | None = None

    @override
    def wrap_socket(self, sock: socket.socket, *args: Any, **named: Any) -> ssl.SSLSocket:
        """As ``http.client`` asks, but for that name."""
        if self.server_name is not None:
            named["server_hostname"] = self.server_name
        return super().wrap_socket(sock, *args, **named)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """An API server sends nobody elsewhere, and the token is for it alone: a redirect is an answer like any other."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        """Nothing is requested."""


def _message(error: urllib.error.HTTPError) -> str:
    text = error.read().decode(errors="replace")
    try:
        return str(json.loads(text)["message"])
    except (KeyError, TypeError, ValueError):
        return text.strip()[:300] or f"HTTP status {error.code}"
