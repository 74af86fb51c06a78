"""Reads what the internet may reach: load balancers of Services, of Ingresses and Gateways, and of a chart's values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from facts.concepts.addresses import open_to_internet
from facts.concepts.declared import Exposure, UnknownReason
from facts.concepts.unknown import UNKNOWN, Maybe, at, both, coalesce, flag, items, known_text, negation
from policies.readers.resource import Declared, Item, Program, Reader, Referrer, matches
from policies.readers.tables import rows

_INTERNAL: Final = rows("readers/kubernetes", "balancers")
_CHARTS: Final = {
    row["chart"]: tuple(row["service"].split(".")) for row in rows("readers/kubernetes", "balancer_charts")
}
_CLUSTERS: Final = ("Cluster", "KubernetesCluster", "ManagedCluster")
# With either, AWS' own controller makes the load balancer, an internal one unless its scheme says otherwise, which goes
# before the older annotation: https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/service/nlb,
# https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/service/model_build_load_balancer.go
_CONTROLLER: Final = ("service.beta.kubernetes.io/aws-load-balancer-type", ("external", "nlb-ip"))
_SCHEME: Final = "service.beta.kubernetes.io/aws-load-balancer-scheme"
_OLD_SCHEME: Final = "service.beta.kubernetes.io/aws-load-balancer-internal"
# Google's classes go before its annotations:
# https://github.com/kubernetes/ingress-gce/blob/master/pkg/annotations/service.go (WantsL4ILB)
_GOOGLES_CLASS: Final = "networking.gke.io/l4-regional-"
# https://pkg.go.dev/k8s.io/api/core/v1#AnnotationLoadBalancerSourceRangesKey, the field's old name
_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
# https://tailscale.com/kb/1439/kubernetes-operator-cluster-ingress#exposing-a-service-to-the-public-internet-using-ingress
_FUNNEL: Final = "tailscale.com/funnel"

# https://docs.cloud.google.com/kubernetes-engine/docs/concepts/ingress, an Ingress without a class is its
_CLASS: Final = "kubernetes.io/ingress.class"
_GOOGLES: Final = "gcp:*"
# https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/ingress/annotations
_ALB: Final = "alb.ingress.kubernetes.io/"
# https://azure.github.io/application-gateway-kubernetes-ingress/annotations/
_AZURES: Final = ("azure-application-gateway", "azure/application-gateway")
_PRIVATE_ADDRESS: Final = "appgw.ingress.kubernetes.io/use-private-ip"
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gatewayclass-capabilities,
# https://learn.microsoft.com/azure/application-gateway/for-containers
_GATEWAYS: Final[Mapping[str, bool]] = {
    "gke-*external*": True,
    "*-l7-gxlb*": True,
    "*-l7-rilb*": False,
    "gke-*internal*": False,
    "azure-alb-external": True,
    "azure-alb-internal": False,
}
# Their controllers make a Service of type LoadBalancer, with the annotations of the Gateway's infrastructure:
# https://gateway-api.sigs.k8s.io/implementations/
_BY_SERVICE: Final = ("cilium", "contour", "eg", "envoy*", "istio", "kong", "nginx", "traefik")
_SERVICE_TYPE: Final = "networking.istio.io/service-type"

_NO_CLASS: Final = UnknownReason(
    "nothing in this program says which controller makes its load balancer",
    "Write a class that does, or exempt it by name.",
)


def read_service(declared: Declared) -> Iterable[Item]:
    """A Service of type LoadBalancer, or one with addresses of its own."""
    spec, annotations = declared.properties.get("spec"), at(declared.properties, "metadata", "annotations")
    addresses = at(spec, "externalIPs")
    taken = UNKNOWN if addresses is UNKNOWN else bool(addresses)
    if taken is not False:
        yield Exposure("addresses", _title(declared), taken, declared.urn)
    if at(spec, "type") == "LoadBalancer":
        yield Exposure("network", _title(declared), _public(annotations, spec, declared.references), declared.urn)
    elif flag(at(annotations, _FUNNEL)) is True:
        yield Exposure("network", _title(declared), True, declared.urn)


def read_ingress(declared: Declared) -> Iterable[Item]:
    """An Ingress whose controller makes a load balancer for it; that of any other is a Service of its own."""
    annotations = at(declared.properties, "metadata", "annotations")
    name = _class(declared)
    public = _of_ingress(name, annotations, declared.references)
    reason = _NO_CLASS if public is UNKNOWN and name is None and not declared.references else None
    yield Exposure("network", _title(declared), public, declared.urn, reason)


def _class(declared: Declared) -> Any:
    spec, annotations = declared.properties.get("spec"), at(declared.properties, "metadata", "annotations")
    return coalesce(at(spec, "ingressClassName"), at(annotations, _CLASS))


def _of_ingress(name: Any, annotations: Any, clusters: tuple[Declared, ...]) -> Maybe[bool]:
    scheme, ranges = at(annotations, f"{_ALB}scheme"), at(annotations, f"{_ALB}inbound-cidrs")
    if UNKNOWN in (name, scheme, ranges):
        return UNKNOWN
    if flag(at(annotations, _FUNNEL)) is True:
        return True
    if scheme is not None or name == "alb":
        within = isinstance(ranges, str) and open_to_internet(ranges.split(",")) is False
        return scheme == "internet-facing" and not within
    if name in _AZURES:
        return negation(flag(at(annotations, _PRIVATE_ADDRESS)))
    if name is None:
        if clusters:
            return any(matches(cluster.type, _GOOGLES) for cluster in clusters)
        return True if at(annotations, "kubernetes.io/ingress.global-static-ip-name") is not None else UNKNOWN
    return name == "gce"


def read_gateway(declared: Declared) -> Iterable[Item]:
    """A Gateway (https://gateway-api.sigs.k8s.io), by its class and the annotations of what is made for it."""
    spec = declared.properties.get("spec")
    name, annotations = at(spec, "gatewayClassName"), at(spec, "infrastructure", "annotations")
    own = at(declared.properties, "metadata", "annotations")
    public: Maybe[bool] = UNKNOWN
    if isinstance(name, str):
        public = next((answer for pattern, answer in _GATEWAYS.items() if matches(name, pattern)), UNKNOWN)
        if any(matches(name, pattern) for pattern in _BY_SERVICE):
            cluster_only = coalesce(at(annotations, _SERVICE_TYPE), at(own, _SERVICE_TYPE)) in ("ClusterIP", "NodePort")
            public = False if cluster_only else _public(annotations, {}, ())
    reason = _NO_CLASS if public is UNKNOWN and isinstance(name, str) else None
    yield Exposure("network", _title(declared), public, declared.urn, reason)


def read_istio(declared: Declared) -> Iterable[Item]:
    """``IstioOperator``, whose default profile has an ingress gateway with a load balancer.

    https://istio.io/latest/docs/setup/additional-setup/config-profiles,
    https://istio.io/latest/docs/reference/config/istio.operator.v1alpha1/
    """
    spec = declared.properties.get("spec")
    listed = items(at(spec, "components", "ingressGateways"))
    if not listed and coalesce(at(spec, "profile"), "default") in _WITH_GATEWAY:
        listed = [{"enabled": True}]
    for gateway in listed:
        service = coalesce(at(gateway, "k8s", "service"), at(spec, "values", "gateways", "istio-ingressgateway"))
        if flag(at(gateway, "enabled")) is not False and at(service, "type") in (None, "LoadBalancer"):
            notes = coalesce(at(gateway, "k8s", "serviceAnnotations"), at(service, "serviceAnnotations"))
            yield Exposure("network", _title(declared), _public(notes, service, ()), declared.urn)


_WITH_GATEWAY: Final = ("default", "demo", "preview")


def read_class(declared: Declared) -> Iterable[Item]:
    """``IngressClassParams`` of AWS' controller and of EKS Auto Mode, and ``LoadBalancerConfiguration`` of a Gateway.

    https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/ingress/ingress_class,
    https://docs.aws.amazon.com/eks/latest/userguide/auto-configure-alb.html,
    https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/gateway/loadbalancerconfig
    """
    spec = declared.properties.get("spec")
    ranges = items(coalesce(at(spec, "inboundCIDRs"), at(spec, "sourceRanges"))) or ["::/0"]
    scheme = at(spec, "scheme")
    facing = UNKNOWN if scheme is UNKNOWN else scheme == "internet-facing"
    if (public := both((facing, open_to_internet(ranges)))) is not False:
        yield Exposure("network", _title(declared), public, declared.urn)


def read_multi_cluster(declared: Declared) -> Iterable[Item]:
    """``MultiClusterIngress``, whose load balancer is always public.

    https://docs.cloud.google.com/kubernetes-engine/docs/concepts/multi-cluster-ingress
    """
    yield Exposure("network", _title(declared), True, declared.urn)


def read_nginx(declared: Declared) -> Iterable[Item]:
    """``NginxIngressController`` of AKS' own ingress: https://learn.microsoft.com/azure/aks/app-routing-nginx-configuration."""
    spec = declared.properties.get("spec")
    limits = {"loadBalancerSourceRanges": at(spec, "loadBalancerSourceRanges")}
    public = _public(at(spec, "loadBalancerAnnotations"), limits, ())
    yield Exposure("network", _title(declared), public, declared.urn)


def of_values(chart: str, values: Any, release: str, resource: str) -> Iterator[Exposure]:
    """The load balancers that a chart makes by its values, or by default."""
    default = _CHARTS.get(chart)
    services = dict(_services(values, ()))
    if default is not None and values is not UNKNOWN and _is_on(values, default):
        service = at(values, *default)
        if at(service, "type") in (None, "LoadBalancer"):
            services[default] = {} if service is None else service
    for path, service in services.items():
        title = f"Helm release '{release}' (values.{'.'.join(path)})"
        notes = coalesce(at(service, "annotations"), at(service, "serviceAnnotations"))
        yield Exposure("network", title, _public(notes, service, ()), resource)
    for path, addresses in _addresses(values, ()):
        title = f"Helm release '{release}' (values.{'.'.join(path)})"
        yield Exposure("addresses", title, UNKNOWN if addresses is UNKNOWN else True, resource)
    for path, ingress in _ingresses(values, ()):
        notes = at(ingress, "annotations")
        name = coalesce(at(ingress, "ingressClassName"), at(ingress, "className"), at(notes, _CLASS))
        if (public := _of_ingress(name, notes, ())) is True:
            yield Exposure("network", f"Helm release '{release}' (values.{'.'.join(path)})", public, resource)


def _addresses(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, part in value.items() if isinstance(value, Mapping) and at(value, "enabled") is not False else ():
        if key == "externalIPs" and (part is UNKNOWN or items(part)):
            yield (*path, key), part
        yield from _addresses(part, (*path, str(key)))


def _ingresses(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and at(value, "enabled") is not False:
        if path and path[-1] == "ingress" and at(value, "enabled") is True:
            yield path, value
        for key, part in value.items():
            yield from _ingresses(part, (*path, str(key)))


def _is_on(values: Any, path: tuple[str, ...]) -> bool:
    return all(at(values, *path[:end], "enabled") is not False for end in range(1, len(path) + 1))


def _services(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and at(value, "enabled") is not False:
        if "LoadBalancer" in (at(value, "type"), at(value, "serviceType")):
            yield path, value
        for key, part in value.items():
            yield from _services(part, (*path, str(key)))


def _public(annotations: Any, spec: Any, clusters: Iterable[Declared]) -> Maybe[bool]:
    annotated = at(annotations, _RANGES)
    ranges = items(at(spec, "loadBalancerSourceRanges")) or (
        [each.strip() for each in annotated.split(",")] if isinstance(annotated, str) else items(annotated)
    )
    if ranges and (reached := open_to_internet(ranges)) is not True:
        return reached
    values = {row["annotation"]: at(annotations, row["annotation"]) for row in _INTERNAL}
    controller = at(annotations, _CONTROLLER[0])
    if UNKNOWN in (*values.values(), controller):
        return UNKNOWN
    kind = at(spec, "loadBalancerClass")
    if isinstance(kind, str) and kind.startswith(_GOOGLES_CLASS):
        return "external" in kind
    by_controller = kind is not None or controller in _CONTROLLER[1]
    scheme = values[_SCHEME]
    if scheme is None and by_controller:
        scheme = {"true": "internal", "false": "internet-facing"}.get(str(values[_OLD_SCHEME]).lower())
    if scheme == "internet-facing":
        return True
    types = [cluster.type for cluster in clusters]
    for row in _INTERNAL:
        works = not types or any(matches(type, each) for type in types for each in row["clusters"].split())
        if str(values[row["annotation"]]).lower() == row["value"] and works:
            return False
    return not by_controller


def _title(declared: Declared) -> str:
    return f"{declared.kind} '{declared.name}'"


def _annotated(declared: Declared) -> bool:
    annotations = at(declared.properties, "metadata", "annotations")
    return any(known_text(at(annotations, row["annotation"])) for row in _INTERNAL)


def _clusters(_: Declared, everything: Program) -> Iterable[Declared]:
    return everything.of_kinds(*_CLUSTERS)


_VERSIONS: Final = ("networking.k8s.io/v1", "networking.k8s.io/v1beta1", "extensions/v1beta1")
_INGRESSES: Final = tuple(f"kubernetes:{version}:Ingress" for version in _VERSIONS)
READERS: Final[Mapping[str, Reader]] = {
    "kubernetes:core/v1:Service": read_service,
    **dict.fromkeys(_INGRESSES, read_ingress),
    "kubernetes:gateway.networking.k8s.io/*:Gateway": read_gateway,
    **{f"kubernetes:{group}/*:IngressClassParams": read_class for group in ("elbv2.k8s.aws", "eks.amazonaws.com")},
    "kubernetes:gateway.k8s.aws/*:LoadBalancerConfiguration": read_class,
    "kubernetes:networking.gke.io/*:MultiClusterIngress": read_multi_cluster,
    "kubernetes:approuting.kubernetes.azure.com/*:NginxIngressController": read_nginx,
    "kubernetes:install.istio.io/*:IstioOperator": read_istio,
}
REFERRERS: Final[Mapping[str, Referrer]] = {
    # An annotation of another cloud does nothing, and the cloud decides about an Ingress without a class.
    "kubernetes:core/v1:Service": Referrer(refers=_annotated, finds=_clusters),
    **dict.fromkeys(_INGRESSES, Referrer(refers=lambda declared: _class(declared) is None, finds=_clusters)),
}
