"""NO_PROXY, with kubectl's rules: https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config."""

from __future__ import annotations

import pytest

from gpu.api.kubeconfig import KubeContext
from gpu.api.proxies import proxy_of

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("server", "no_proxy", "proxied"),
    [
        ("https://api.lab.example", "", True),
        ("https://api.lab.example", "*", False),
        ("https://api.lab.example", "lab.example", False),
        ("https://api.lab.example", ".lab.example", False),
        ("https://api.lab.example", "*.lab.example", False),
        ("https://API.lab.example", "other, api.LAB.example", False),
        ("https://lab.example", ".lab.example", True),
        ("https://lab.example", "lab.example", False),
        ("https://mylab.example", "lab.example", True),
        ("https://lab.example", "lab.example:443", False),
        ("https://lab.example:6443", "lab.example:443", True),
        ("https://lab.example:6443", "lab.example:6443", False),
        ("https://10.1.2.3", "10.0.0.0/8", False),
        ("https://11.1.2.3", "10.0.0.0/8", True),
        ("https://10.1.2.3", "10.1.2.3", False),
        ("https://10.1.2.3", "1.2.3", True),
        ("https://10.1.2.3:6443", "10.1.2.3:443", True),
        ("https://[fd00::1]:6443", "fd00::/8", False),
        ("https://[fd00::1]:6443", "fd00::1", False),
        ("https://[fd00::2]:6443", "fd00::1", True),
        ("https://lab.example", "10.0.0.0/nonsense,lab.example:port", True),
        ("https://localhost:6443", "", False),
        ("https://127.0.0.1:6443", "", False),
        ("https://[::1]:6443", "", False),
    ],
)
@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_what_no_proxy_excepts(server: str, no_proxy: str, name: str, proxied: bool) -> None:
    variables = {"HTTPS_PROXY": PROXY, name: no_proxy}
    assert proxy_of(KubeContext({"server": server}), variables) == (PROXY if proxied else "")


@pytest.mark.parametrize(
    ("server", "variables", "expected"),
    [
        ("https://a.example", {"HTTPS_PROXY": PROXY, "https_proxy": "http://other"}, PROXY),
        ("https://a.example", {"https_proxy": "proxy.example:3128"}, PROXY),
        ("https://a.example", {"HTTP_PROXY": PROXY, "ALL_PROXY": PROXY}, ""),
        ("http://a.example", {"HTTP_PROXY": PROXY, "HTTPS_PROXY": "http://other"}, PROXY),
        ("http://a.example", {"HTTP_PROXY": PROXY, "NO_PROXY": "a.example:80"}, ""),
        ("https://a.example", {}, ""),
    ],
)
def test_the_proxy_of_the_environment_is_by_the_server_s_scheme(
    server: str, variables: dict[str, str], expected: str
) -> None:
    assert proxy_of(KubeContext({"server": server}), variables) == expected


def test_the_kubeconfig_s_proxy_has_no_exceptions() -> None:
    context = KubeContext({"server": "https://127.0.0.1", "proxy-url": "socks5://bastion:1080"})
    assert proxy_of(context, {"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}) == "socks5://bastion:1080"
