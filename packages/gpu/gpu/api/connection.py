"""Requests to the API server of a context. Thread-safe."""

from __future__ import annotations

import json
import re
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlencode, urlsplit

import urllib3
from urllib3.exceptions import HTTPError, InsecureRequestWarning

from gpu.api.credentials import Credential, Credentials, Environment
from gpu.api.kubeconfig import KubeconfigError, KubeContext, flag, reason, text
from gpu.api.proxies import proxy_of, without_password

JSON: Final = "application/json"
_BUSY_SECONDS: Final = 10.0
"""A server that is busy for longer has refused."""
_RETRIES: Final = urllib3.Retry(total=None, connect=0, read=1, redirect=0, status=0, other=0)
"""One more, for reads on a connection that the server has closed meanwhile."""


class NoAnswerError(Exception):
    """No answer from the API server, or none that can be trusted; the message is the reason."""


@contextmanager
def answering() -> Iterator[None]:
    """Raises NoAnswerError in the place of what fails while an answer is read."""
    try:
        yield
    except (HTTPError, OSError) as error:
        cause: Any = getattr(error, "reason", error)
        cause = getattr(cause, "original_error", cause)
        words = str(cause.args[-1] if getattr(cause, "args", ()) else cause)
        # urllib3 puts the connection or the pool before its message; the system's and OpenSSL's codes say nothing.
        raise NoAnswerError(re.sub(r"\[[^\]]*\] ", "", words.rpartition("): ")[2])) from error


class Connection:
    """One cluster, as one user."""

    def __init__(
        self,
        context: KubeContext,
        environment: Environment,
        *,
        timeout: tuple[float, float],
        trusted: Path | None = None,
        pause: float = 1.0,
        connections: int = 16,
    ) -> None:
        """Get the user's credentials; the server is not asked yet.

        ``timeout``: seconds to connect, and between two bytes. ``trusted``: the authorities of servers that have none
        in their entry; default: this machine's. ``pause``: seconds until a busy server is asked again.

        Raises:
            KubeconfigError: a certificate or the credentials cannot be had.
        """
        self.context = context
        self._proxy = proxy_of(context, environment.variables)
        self._credentials = Credentials(context, environment)
        self._impersonation = self._credentials.impersonation()
        self._trusted = trusted
        self._pause = pause
        self._options: dict[str, Any] = {
            "server_hostname": text(context.cluster.get("tls-server-name")) or None,
            "maxsize": connections,
            "timeout": urllib3.Timeout(connect=timeout[0], read=timeout[1]),
            "retries": _RETRIES,
        }
        self._lock = threading.Lock()
        self._certificate = b""
        self._pool: urllib3.PoolManager | None = None
        self._pool_for(self._credentials.get())

    @property
    def proxy(self) -> str:
        """The URL of the proxy, without its password; empty without one."""
        return without_password(self._proxy)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        stream: bool = False,
    ) -> urllib3.BaseHTTPResponse:
        """The server's answer, whatever its status. A refused credential is renewed once, if it can be.

        Raises:
            KubeconfigError: the credentials cannot be renewed.
            NoAnswerError: the server does not answer.
        """
        url = self.context.server + path + (f"?{urlencode(query)}" if query else "")
        headers = [("Accept", accept), ("Content-Type", content_type), *self._impersonation]
        options: dict[str, Any] = {"preload_content": not stream, "redirect": False}
        if body is not None:
            options["body"] = json.dumps(body)
        credential = self._credentials.get()
        response = self._send(method, url, headers, credential, options)
        if response.status == 401 and (renewed := self._credentials.get(refused=credential)) != credential:
            response.close()
            response = self._send(method, url, headers, renewed, options)
        return response

    def _send(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        credential: Credential,
        options: Mapping[str, Any],
    ) -> urllib3.BaseHTTPResponse:
        shown = [("Authorization", credential.authorization)] if credential.authorization else []
        sent = urllib3.HTTPHeaderDict()
        for name, value in (*headers, *shown):
            sent.add(name, value)
        pool = self._pool_for(credential)
        give_up = time.monotonic() + _BUSY_SECONDS
        while True:
            with answering():
                response = pool.request(method, url, headers=sent, **options)
            busy = response.status == 429 and "Retry-After" in response.headers
            if not busy or time.monotonic() >= give_up:
                return response
            # Asked to come back: the server is overloaded, or a new kind's storage is not ready yet.
            response.close()
            time.sleep(self._pause)

    def _pool_for(self, credential: Credential) -> urllib3.PoolManager:
        """The connections that show the credential's certificate."""
        with self._lock:
            if self._pool is None or credential.certificate != self._certificate:
                self._pool, self._certificate = self._connections(credential.certificate), credential.certificate
            return self._pool

    def _connections(self, certificate: bytes) -> urllib3.PoolManager:
        tls = tls_context(self.context, certificate, self._trusted)
        if tls.verify_mode == ssl.CERT_NONE:
            urllib3.disable_warnings(InsecureRequestWarning)  # the kubeconfig says so
        options = {**self._options, "ssl_context": tls, "cert_reqs": tls.verify_mode}
        if not self._proxy:
            return urllib3.PoolManager(**options)
        url = urlsplit(self._proxy)
        if url.scheme.startswith("socks5"):
            from urllib3.contrib.socks import SOCKSProxyManager

            # socks5h: the proxy resolves names, as with kubectl.
            return SOCKSProxyManager(url._replace(scheme="socks5h").geturl(), **options)
        login = f"{unquote(url.username)}:{unquote(url.password or '')}" if url.username else None
        return urllib3.ProxyManager(self._proxy, proxy_headers=urllib3.make_headers(proxy_basic_auth=login), **options)


def tls_context(context: KubeContext, certificate: bytes = b"", trusted: Path | None = None) -> ssl.SSLContext:
    """What the server has to prove, and the user's client certificate if there is one.

    A cluster without an authority of its own has to prove itself to those that this machine trusts, or to those in the
    file ``trusted``. Raises KubeconfigError: a certificate or key is missing or malformed.
    """
    authority = context.bytes_of(context.cluster, "certificate-authority")
    at = f"cluster {context.server}: certificate-authority"
    try:
        anybody = None if authority or trusted is None else str(trusted)
        tls = ssl.create_default_context(cadata=authority and authority.decode(), cafile=anybody)
        # As kubectl: an intermediate authority can be trusted, and old authorities lack identifiers of keys.
        tls.verify_flags = (tls.verify_flags | ssl.VERIFY_X509_PARTIAL_CHAIN) & ~ssl.VERIFY_X509_STRICT
        if flag(context.cluster, "insecure-skip-tls-verify"):
            tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        if certificate:
            at = f"{context.user_at}: client-certificate"
            # Python reads client certificates from files only; this one is readable by its owner alone.
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "pem")
                file.write_bytes(certificate)
                tls.load_cert_chain(file, password="")  # an encrypted key is an error, no question
    except (OSError, ValueError) as error:  # among them ssl.SSLError
        raise KubeconfigError(f"{at}: a certificate or key cannot be used: {reason(error)}") from error
    # urllib3 sets the protocols again for each connection. A thread that connects meanwhile reads freed memory, and
    # the server refuses its hello (decode_error). https://github.com/urllib3/urllib3/blob/2.8.0/src/urllib3/util/ssl_.py
    tls.set_alpn_protocols(["http/1.1"])
    vars(tls)["set_alpn_protocols"] = lambda _: None
    return tls
