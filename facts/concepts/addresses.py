"""Ranges of IP addresses as sets: how much of the internet they let in."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Any, Final, TypeVar

from facts.concepts.unknown import UNKNOWN, Maybe

_Network = TypeVar("_Network", IPv4Network, IPv6Network)

MOST_ADDRESSES: Final = 2**24
"""Public IPv4 addresses that one list may let in: a /8, the largest block that the internet's registries gave to one
organisation (https://www.iana.org/assignments/ipv4-address-space). More belong to several, who are not named."""
MOST_ADDRESSES_6: Final = 2 ** (128 - 16)
"""The same for IPv6: a /16. The registries themselves have a /12 for all whom they serve
(https://www.iana.org/assignments/ipv6-unicast-address-assignments)."""

# https://www.iana.org/assignments/iana-ipv4-special-registry; smaller ones decide nothing
_NOT_PUBLIC: Final = (
    IPv4Network("0.0.0.0/8"),
    IPv4Network("10.0.0.0/8"),
    IPv4Network("100.64.0.0/10"),
    IPv4Network("127.0.0.0/8"),
    IPv4Network("169.254.0.0/16"),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.168.0.0/16"),
    IPv4Network("198.18.0.0/15"),
    IPv4Network("224.0.0.0/3"),
)
# IPv4 addresses as those of IPv6: https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
# Each IPv4 address has a /48 of these: https://www.rfc-editor.org/rfc/rfc3056#section-2
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")
# https://www.iana.org/assignments/ipv6-address-space: all public addresses of IPv6
_PUBLIC_6: Final = (IPv6Network("2000::/3"),)


def open_to_internet(ranges: Iterable[Any]) -> Maybe[bool]:
    """Whether ranges (``203.0.113.0/24``, ``2001:db8::/32``, or one address) let in more than one organisation.

    They are counted together, each address once. What is no range is taken for all addresses: a cloud may read it
    in another way (``000.0.0.0/0``). ``UNKNOWN`` if the answer depends on one that is unknown.
    """
    version_4: list[IPv4Network] = []
    version_6: list[IPv6Network] = []
    unknown = False
    for each in ranges:
        try:
            network = UNKNOWN if each is UNKNOWN else ip_network(str(each).strip(), strict=False)
        except ValueError:
            network = IPv4Network("0.0.0.0/0")
        if isinstance(network, IPv6Network) and network.overlaps(_MAPPED):
            inside = network.prefixlen >= _MAPPED.prefixlen
            address = IPv4Address(int(network.network_address) & 0xFFFFFFFF) if inside else IPv4Address(0)
            version_4.append(IPv4Network((address, max(network.prefixlen - _MAPPED.prefixlen, 0))))
        if isinstance(network, IPv6Network) and network.subnet_of(_SIX_TO_FOUR):
            address = IPv4Address(int(network.network_address) >> 80 & 0xFFFFFFFF)
            network = IPv4Network((address, min(network.prefixlen - _SIX_TO_FOUR.prefixlen, 32)), strict=False)
        if isinstance(network, IPv4Network):
            version_4.append(network)
        elif isinstance(network, IPv6Network):
            version_6.append(network)
        else:
            unknown = True
    merged = list(collapse_addresses(version_4))
    public = sum(each.num_addresses for each in merged) - _common(merged, _NOT_PUBLIC)
    if public > MOST_ADDRESSES or _common(list(collapse_addresses(version_6)), _PUBLIC_6) > MOST_ADDRESSES_6:
        return True
    return UNKNOWN if unknown else False


def _common(some: Iterable[_Network], others: Iterable[_Network]) -> int:
    """Addresses in both; of two ranges that overlap one contains the other."""
    return sum(min(a.num_addresses, b.num_addresses) for a in some for b in others if a.overlaps(b))
