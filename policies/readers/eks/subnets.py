"""Amazon's subnets: which ones a group starts machines in, and whether these give its machines public addresses.

https://docs.aws.amazon.com/vpc/latest/userguide/vpc-ip-addressing.html#vpc-public-ipv4-addresses
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, Maybe, at, both, either, flag, items, mapping, negation
from policies.readers.resource import Declared, Program
from policies.readers.spelling import tag_key

_DEFAULT: Final = "aws:ec2/defaultSubnet:DefaultSubnet"
SUBNETS: Final = ("aws:ec2/subnet:Subnet", _DEFAULT)
_TAG: Final = "aws:ec2/tag:Tag"


def private_machines(doors: Iterable[Maybe[bool | None]], subnets: Iterable[Declared]) -> Maybe[bool]:
    """Whether no machine gets a public address. ``doors``: what each template of the machines says about that, which
    decides; where it says nothing (``None``), the subnet that the machine starts in does. Resources that are no subnets
    are left out, and one that may not be meant decides nothing."""
    there = [each for each in subnets if each.type in SUBNETS]
    open_ones = [UNKNOWN if not each.certain and _is_public(each) is True else _is_public(each) for each in there]
    return both(negation(each) for door in doors for each in (open_ones if door is None else (door,)))


def _is_public(subnet: Declared) -> Maybe[bool]:
    """Whether the subnet gives public addresses; those that AWS makes by default do."""
    given = subnet.properties.get("mapPublicIpOnLaunch")
    return given is None if given is None and subnet.type == _DEFAULT else flag(given)


def subnets_among(declared: Declared, property: str, everything: Program) -> Iterator[Declared]:
    """The subnets that ``property`` of ``declared`` comes from, names, or selects by ``matchLabels``; perhaps any where
    what it names is not known, nor where that comes from."""
    sources = declared.dependencies.get(property, ())
    entries = items(declared.properties.get(property))
    named = [one for one in entries if isinstance(one, str)]
    any_of_them = not sources and UNKNOWN in (declared.properties.get(property), *entries)
    for subnet in everything.of(*SUBNETS):
        selected = is_selected(subnet, entries)
        if subnet.urn in sources or subnet.properties.get("id") in named or selected is True:
            yield subnet
        elif selected is UNKNOWN or any_of_them:
            yield replace(subnet, certain=False)


def is_selected(object: Declared, selectors: Iterable[Any]) -> Maybe[bool]:
    """Whether any selector among the values selects an object, by all labels of its ``matchLabels``."""
    labels = mapping(object.properties.get("matchLabels"))
    wanted = (mapping(at(each, "matchLabels")) for each in selectors if isinstance(each, Mapping))
    return either(_carries(labels, each) for each in wanted)


def _carries(labels: Maybe[Mapping[Any, Any]], wanted: Maybe[Mapping[Any, Any]]) -> Maybe[bool]:
    if labels is UNKNOWN or wanted is UNKNOWN:
        return UNKNOWN
    return both(_has(labels, key, value) for key, value in wanted.items())


def subnets_selected(node_class: Declared, everything: Program) -> Iterable[Declared]:
    """The subnets that ``spec.subnetSelectorTerms`` of a node class select, by ID or by all tags of a term.

    https://karpenter.sh/docs/concepts/nodeclasses/#specsubnetselectorterms
    """
    sources = {urn for urns in node_class.dependencies.values() for urn in urns}
    terms = items(at(node_class.properties, "spec", "subnetSelectorTerms"))
    tags = everything.of(_TAG) if terms else ()
    for subnet in everything.of(*SUBNETS) if terms else ():
        answers = [_selects(term, subnet, _tags(subnet, tags), sources) for term in terms]
        if True in answers:
            yield subnet
        elif UNKNOWN in answers:
            yield replace(subnet, certain=False)


def _selects(term: Any, subnet: Declared, tags: Maybe[Mapping[Any, Any]], sources: Iterable[str]) -> Maybe[bool]:
    id, wanted = at(term, "id"), mapping(at(term, "tags"))
    if id is not None:
        return subnet.urn in sources if id is UNKNOWN else subnet.properties.get("id") == id
    if term is UNKNOWN or wanted is UNKNOWN:
        return subnet.urn in sources or UNKNOWN
    if tags is UNKNOWN:
        return UNKNOWN
    return bool(wanted) and both(_has(tags, key, value) for key, value in wanted.items())


def _has(tags: Mapping[Any, Any], key: Any, wanted: Any) -> Maybe[bool]:
    if key not in tags:
        return UNKNOWN if UNKNOWN in tags else False
    if wanted in ("*", ""):
        return True
    return UNKNOWN if UNKNOWN in (wanted, tags[key]) else str(tags[key]) == str(wanted)


def _tags(subnet: Declared, apart: Iterable[Declared]) -> Maybe[Mapping[Any, Any]]:
    """The subnet's tags: its own, its provider's default ones, and those that resources of their own put on it."""
    own, default = mapping(subnet.properties.get("tags")), mapping(at(subnet.provider.get("defaultTags"), "tags"))
    if own is UNKNOWN or default is UNKNOWN:
        return UNKNOWN
    added = [each.properties for each in apart if _is_on(each, subnet)]
    return {**default, **own, **{tag_key(each.get("key")): each.get("value") for each in added}}


def _is_on(tag: Declared, subnet: Declared) -> bool:
    id = tag.properties.get("resourceId")
    by_id = isinstance(id, str) and id == subnet.properties.get("id")
    return by_id or subnet.urn in tag.dependencies.get("resourceId", ())
