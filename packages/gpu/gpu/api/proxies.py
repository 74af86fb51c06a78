"""Which proxy leads to a cluster: the kubeconfig's, else the environment's, by the rules of ``kubectl``.

https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config; ``kubectl`` also reads ranges of addresses in ``NO_PROXY``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from gpu.api.kubeconfig import KubeconfigError, KubeContext, text

_SCHEMES: Final = ("http", "https", "socks5", "socks5h")


def proxy_of(context: KubeContext, variables: Mapping[str, str]) -> str:
    """The proxy's URL, empty without one. Raises KubeconfigError: it is no URL of a proxy."""
    named = text(context.cluster.get("proxy-url"))
    if named:
        return _checked(named, f"cluster {context.server}: proxy-url")
    server = urlsplit(context.server)
    host, port = server.hostname or "", server.port or {"http": 80}.get(server.scheme, 443)
    names = (f"{server.scheme.upper()}_PROXY", f"{server.scheme}_proxy")
    name = next((name for name in names if variables.get(name)), None)
    no_proxy = variables.get("NO_PROXY") or variables.get("no_proxy") or ""
    if name is None or _local(host) or bypasses(no_proxy, host, port):
        return ""
    url = variables[name]
    return _checked(url if "://" in url else f"http://{url}", name)


def bypasses(no_proxy: str, host: str, port: int) -> bool:
    """Whether ``NO_PROXY`` excepts a host: by ``*``, address, range, or a domain, each with or without a port."""
    return any(_excepts(word.strip().lower(), host.lower(), port) for word in no_proxy.split(","))


def _excepts(word: str, host: str, port: int) -> bool:
    if word in ("", "*"):
        return word == "*"
    address = _address(host)
    try:
        if "/" in word:
            return address is not None and address in ipaddress.ip_network(word, strict=False)
        entry = urlsplit(f"//[{word}]" if isinstance(_address(word), ipaddress.IPv6Address) else f"//{word}")
        name, own_port = entry.hostname or "", entry.port
    except ValueError:
        return False
    if own_port not in (None, port):
        return False
    if address is not None or _address(name) is not None:
        return address == _address(name)
    domain = name.removeprefix("*")
    return host == domain or host.endswith(domain if domain.startswith(".") else f".{domain}")


def without_password(url: str) -> str:
    """A URL as messages may show it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _checked(url: str, where: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise KubeconfigError(
            f"{where}: {without_password(url)!r} is no URL of a proxy; write http://, https:// or socks5:// with a host"
        )
    return url


def _local(host: str) -> bool:
    address = _address(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
