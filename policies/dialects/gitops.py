"""Charts that a controller in the cluster installs, as releases: by Flux, Argo CD, k3s, Crossplane, Cluster API.

https://fluxcd.io/flux/components/helm/helmreleases/, https://argo-cd.readthedocs.io/en/stable/user-guide/helm/,
https://docs.k3s.io/add-ons/helm, https://github.com/crossplane-contrib/provider-helm,
https://github.com/kubernetes-sigs/cluster-api-addon-provider-helm
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, at, coalesce, items, mapping, text
from policies.readers.kubernetes.chart_values import over
from policies.readers.kubernetes.helm import SOURCE
from policies.readers.kubernetes.objects import target_of
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling, parsed, respelled

_RELEASE: Final = "kubernetes:helm.sh/v3:Release"
# --set's paths: https://helm.sh/docs/intro/using_helm/#the-format-and-limitations-of---set
_STEP: Final = re.compile(r"((?:\\.|[^.\[\]\\])+)|\[(\d+)\]")


def read_flux(declared: Declared) -> Iterable[Declared]:
    """``HelmRelease``; values of a ConfigMap or a Secret (``valuesFrom``) are not part of it."""
    spec = declared.properties.get("spec")
    chart, reference = at(spec, "chart", "spec", "chart"), at(spec, "chartRef")
    names = (at(spec, "releaseName"), at(spec, "targetNamespace"))
    files = [*items(at(spec, "valuesFrom")), *items(at(spec, "chart", "spec", "valuesFiles"))]
    source = coalesce(at(spec, "chart", "spec", "sourceRef", "name"), at(reference, "name"))
    made = release(declared, chart, names, at(spec, "values"), files, at(spec, "postRenderers"), repository=source)
    if chart is None and (reference is UNKNOWN or isinstance(reference, Mapping)):
        own = {"namespace": at(declared.properties, "metadata", "namespace")}
        of_object = UNKNOWN if reference is UNKNOWN else {**own, **reference}
        made = replace(made, properties={**made.properties, SOURCE: of_object})
    yield made


def read_argo(declared: Declared) -> Iterable[Declared]:
    """``Application``: a release for each source with a chart or with values; other sources are manifests elsewhere."""
    yield from _of_sources(declared, declared.properties.get("spec"))


def read_argo_set(declared: Declared) -> Iterable[Declared]:
    """``ApplicationSet``: the applications that it makes have one template, and maybe a patch that is a text for each.

    https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Template/#template-patch
    """
    if at(declared.properties, "spec", "templatePatch") is not None:
        yield declared
    yield from _of_sources(declared, at(declared.properties, "spec", "template", "spec"))


def read_k3s(declared: Declared) -> Iterable[Declared]:
    """``HelmChart``."""
    spec = declared.properties.get("spec")
    values = with_set(parsed(at(spec, "valuesContent")), _pairs(at(spec, "set")))
    names = (declared.object_name, at(spec, "targetNamespace"))
    files = items(at(spec, "valuesSecrets"))
    yield release(declared, at(spec, "chart"), names, values, files, repository=at(spec, "repo"))


def read_crossplane(declared: Declared) -> Iterable[Declared]:
    """``Release``."""
    spec = at(declared.properties, "spec", "forProvider")
    listed = [(at(entry, "name"), at(entry, "value")) for entry in items(at(spec, "set"))]
    values, names = with_set(at(spec, "values"), listed), (declared.object_name, at(spec, "namespace"))
    files, repository = items(at(spec, "valuesFrom")), at(spec, "chart", "repository")
    yield release(declared, at(spec, "chart", "name"), names, values, files, repository=repository)


def read_cluster_api(declared: Declared) -> Iterable[Declared]:
    """``HelmChartProxy``, which installs a chart in clusters by their labels."""
    spec = declared.properties.get("spec")
    names = (at(spec, "releaseName"), at(spec, "namespace"))
    values = parsed(at(spec, "valuesTemplate"))
    yield release(declared, at(spec, "chartName"), names, values, repository=at(spec, "repoURL"))


def read_terraform(declared: Declared) -> Iterable[Declared]:
    """``helm:index/release:Release``: https://registry.terraform.io/providers/hashicorp/helm."""
    inputs = declared.properties
    values: dict[str, Any] = {}
    texts = [mapping(parsed(each)) for each in items(inputs.get("values"))]
    for each in texts:
        values = values if each is UNKNOWN else over(each, values)
    listed = [
        (at(entry, "name"), at(entry, "value")) for entry in items(coalesce(inputs.get("sets"), inputs.get("set")))
    ]
    unknown = [each for each in texts if each is UNKNOWN]
    names = (inputs.get("name"), inputs.get("namespace"))
    chart, renderer, repository = (inputs.get(key) for key in ("chart", "postrender", "repository"))
    yield release(declared, chart, names, with_set(values, listed), unknown, renderer, repository=repository)


SPELLINGS: Final[Mapping[str, Spelling]] = {
    "kubernetes:helm.toolkit.fluxcd.io/*:HelmRelease": read_flux,
    "kubernetes:argoproj.io/*:Application": read_argo,
    "kubernetes:argoproj.io/*:ApplicationSet": read_argo_set,
    "kubernetes:helm.cattle.io/*:HelmChart": read_k3s,
    "kubernetes:helm.cattle.io/*:HelmChartConfig": read_k3s,
    "kubernetes:helm.crossplane.io/*:Release": read_crossplane,
    "kubernetes:helm.m.crossplane.io/*:Release": read_crossplane,
    "helm:index/release:Release": read_terraform,
    "kubernetes:addons.cluster.x-k8s.io/*:HelmChartProxy": read_cluster_api,
}


def _of_sources(declared: Declared, spec: Any) -> Iterable[Declared]:
    releases: list[Declared] = []
    elsewhere = False
    for source in (at(spec, "source"), *items(at(spec, "sources"))):
        helm, chart, path = (at(source, key) for key in ("helm", "chart", "path"))
        if chart is None and helm is None:
            elsewhere = elsewhere or (source is not None and (path is not None or at(source, "ref") is None))
            continue
        listed = [(at(entry, "name"), at(entry, "value")) for entry in items(at(helm, "parameters"))]
        values = with_set(parsed(coalesce(at(helm, "valuesObject"), at(helm, "values"))), listed)
        where = f"./{str(path).removeprefix('./')}" if isinstance(path, str) else path
        names = (at(helm, "releaseName"), at(spec, "destination", "namespace"))
        files, repository = items(at(helm, "valueFiles")), at(source, "repoURL")
        releases.append(release(declared, coalesce(chart, where), names, values, files, repository=repository))
    yield from releases
    if elsewhere or not releases:
        yield declared


def release(
    declared: Declared,
    chart: Any,
    names: tuple[Any, Any],
    values: Any,
    files: Sequence[Any] = (),
    changes: Any = None,
    *,
    repository: Any = None,
) -> Declared:
    """A chart that ``declared`` installs. ``names``: of the release and its namespace; ``files``: values elsewhere;
    ``changes``: what renders it again; ``repository``: the chart's, by its address or by its object's name."""
    name, namespace = names
    properties = {
        "chart": chart,
        "repositoryOpts": {"repo": repository},
        "name": coalesce(name, declared.object_name),
        "namespace": coalesce(namespace, text(at(declared.properties, "metadata", "namespace"))),
        "values": {} if values is None else values,
        "valueYamlFiles": list(files),
        "postrender": changes if changes is UNKNOWN or changes else None,
    }
    return replace(respelled(declared, _RELEASE, properties), target=target_of(declared))


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    return [*value.items()] if isinstance(value, Mapping) else [(UNKNOWN, UNKNOWN)] if value is UNKNOWN else []


def with_set(values: Any, parameters: Iterable[tuple[Any, Any]]) -> Any:
    """``values`` with single ones over them, each by a path such as ``controller.tolerations[0].operator``."""
    merged: Any = {} if values is None else values
    for path, value in parameters:
        if not isinstance(path, str) or not isinstance(merged, Mapping):
            return UNKNOWN
        steps = [int(number) if number else name.replace("\\.", ".") for name, number in _STEP.findall(path)]
        merged = _placed(merged, steps, parsed(value))
    return merged


def _placed(below: Any, steps: list[str | int], value: Any) -> Any:
    if not steps or below is UNKNOWN:
        return value if not steps else UNKNOWN
    step, *rest = steps
    if isinstance(step, int):
        listed = list(below) if isinstance(below, (list, tuple)) else []
        listed += [None] * (step + 1 - len(listed)) if step < _MOST_ELEMENTS else []
        return [_placed(part, rest, value) if number == step else part for number, part in enumerate(listed)]
    merged = dict(below) if isinstance(below, Mapping) else {}
    merged[step] = _placed(merged.get(step), rest, value)
    return merged


_MOST_ELEMENTS: Final = 1000
"""Of a list that a parameter makes: Helm's own limit is higher, and nobody counts pods by hand."""
