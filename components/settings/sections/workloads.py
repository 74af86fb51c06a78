"""``workloads`` and ``identities``: what jobs need besides GPUs, and what their service accounts have access to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictInt, StrictStr, ValidationInfo, model_validator
from typing_extensions import Self

from components.settings.fields.namespaces import LABEL, Namespace, own_namespace
from components.settings.fields.types import Flag, Section, context, matching, once, wrong
from components.settings.sections.services import Services
from components.settings.sections.tools import Dashboard, Keda, Notebook, Prometheus, Queue, Tool

# A path of one image inside a registry: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests
_IMAGE: Final = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*(/[a-z0-9]+([._-][a-z0-9]+)*)*")


def service_account(text: str) -> str:
    """``namespace/name`` of a service account outside the cluster's own namespaces."""
    namespace, slash, name = text.partition("/")
    if not (slash and LABEL.fullmatch(namespace) and LABEL.fullmatch(name)):
        raise wrong(
            f"'{text}' is not a service account: a namespace and a name, each of lower-case letters, digits and '-'",
            "Write for example default/trainer",
        )
    own_namespace(namespace, "research/trainer")
    if name == "default":
        raise wrong(
            f"'{text}' is the service account of every pod of '{namespace}' that names no other",
            f"Name one for the pods that need it, such as {namespace}/trainer",
        )
    return text


def _pulled(registries: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    """Registries to which the cloud can grant the nodes' identity access; on some only the owner can grant it."""
    known = context(info).catalog
    if known is None or not registries:
        return registries
    name = known.account.registry_name
    if name.written is None:
        raise wrong(
            f"on {context(info).cloud} the owner of a registry grants pull access to nodes of other accounts",
            f"Leave it out; {name.instead}",
        )
    for each in registries:
        if not name.written.fullmatch(each):
            raise wrong(f"'{each}' is not a registry name on {context(info).cloud}", f"Write {name.example}")
    if len(set(registries)) < len(registries):
        raise wrong("a registry is listed twice", "Write each once")
    return registries


def _some(images: tuple[str, ...]) -> tuple[str, ...]:
    if not images or len(set(images)) < len(images):
        raise wrong(
            "the list must have at least one image, and each only once",
            "Leave it out, or write for example images: [jobs]",
        )
    return images


ImageName = Annotated[
    StrictStr,
    matching(
        _IMAGE,
        "is not a valid image name: lower-case letters and digits, '.', '_', '-' and '/' between them",
        "Write for example jobs, or vision/train",
    ),
]
ServiceAccount = Annotated[StrictStr, AfterValidator(service_account)]
OnDestroy = Annotated[
    Literal["keep", "delete"],
    Field(description="`keep`: `pulumi destroy` leaves it and its contents in the account. `delete`: deletes both"),
]
Adopt = Annotated[
    Flag,
    Field(description="adopt the resource that an earlier stack of this name, account and region retained"),
]


class Registry(Section):
    """A private registry for images of jobs. Nodes can pull; any principal with write access can push."""

    images: Annotated[tuple[ImageName, ...], AfterValidator(_some)] = Field(
        default=("jobs",),
        description="names of images, for a cloud where each needs a repository. Elsewhere any name can be pushed",
    )
    mutable_tags: Flag = Field(
        default=False,
        description="allow pushing another image to an existing tag. By default the registry refuses it, where it can",
    )
    untagged_days: Annotated[StrictInt, Field(ge=1, le=3650)] | None = Field(
        default=None,
        description="days after which an untagged image is deleted. Default: 30, where the registry can delete them",
    )
    on_destroy: OnDestroy = "keep"
    adopt: Adopt = False


class Checkpoints(Section):
    """A private, encrypted bucket that pods of one service account read and write without a key."""

    service_account: ServiceAccount = Field(
        default="default/trainer",
        description="namespace/name of the service account with access; the program creates it",
    )
    undelete_days: Annotated[StrictInt, Field(ge=7, le=90)] = Field(
        default=7, description="days for which deleted or overwritten objects can be restored, 7 to 90"
    )
    on_destroy: OnDestroy = "keep"
    adopt: Adopt = False


class SharedVolume(Section):
    """A file system that all pods of a namespace can mount at once (ReadWriteMany), as claim `shared`."""

    namespace: Namespace = Field(default="default", description="namespace of the claim; the program creates it")
    size_gib: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None, description="size in GiB, where the cloud has sizes. Default: its smallest"
    )
    on_destroy: OnDestroy = "keep"
    adopt: Adopt = False


Lasting = Registry | Checkpoints | SharedVolume
"""Retained on `pulumi destroy` unless the stack file says otherwise."""


class Workloads(Section):
    """What jobs need besides GPUs. Everything is off by default; `{}` enables an item with its defaults, a key
    without a value does not."""

    registry: Registry | None = Field(
        default=None, description="container registry for images of jobs. Output `registry`"
    )
    pull_from: Annotated[tuple[StrictStr, ...], AfterValidator(_pulled)] = Field(
        default=(),
        description="registries of other projects or accounts from which nodes can pull, as the cloud names them",
    )
    checkpoints: Checkpoints | None = Field(
        default=None, description="bucket for checkpoints of training jobs. Output `checkpoints`"
    )
    shared_volume: SharedVolume | None = Field(
        default=None, description="file system for all jobs of a namespace. Output `sharedVolume`"
    )
    services: Services = Field(default=(), description="inference services. Output `services`: name → address")
    monitoring: Prometheus | None = Field(
        default=None, description="GPU metrics, dashboards and alerts. Output `monitoring`"
    )
    queue: Queue | None = Field(
        default=None, description="a job queue: jobs wait for GPUs and start with all of their pods"
    )
    notebook: Notebook | None = Field(default=None, description="notebooks on GPUs in a browser")
    dashboard: Dashboard | None = Field(default=None, description="a web page that shows the cluster")

    @model_validator(mode="after")
    def _served(self) -> Self:
        for each in self.services:
            if each.checkpoint is None:
                continue
            if self.checkpoints is None:
                raise wrong(
                    f"service {each.name} loads checkpoints, but the stack has none", "Add checkpoints: {} to workloads"
                )
            owner = self.checkpoints.service_account
            if not owner.startswith(f"{each.namespace}/"):
                raise wrong(
                    f"service {each.name} is in {each.namespace}, but only {owner} can read the checkpoints",
                    f"Write namespace: {owner.partition('/')[0]}",
                )
        return self

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Tools that run on the admin pool, by key."""
        declared = {
            "services": Keda() if self.services else None,
            "monitoring": self.monitoring,
            "queue": self.queue,
            "notebook": self.notebook,
            "dashboard": self.dashboard,
        }
        return {key: tool for key, tool in declared.items() if tool is not None}


class Identity(Section):
    """A Kubernetes service account with an identity in the cloud, without a key."""

    service_account: ServiceAccount = Field(
        description="namespace/name of the service account; the program creates both"
    )
    read: tuple[StrictStr, ...] = Field(default=(), description="buckets whose objects it may read")
    write: tuple[StrictStr, ...] = Field(default=(), description="buckets whose objects it may read, write and delete")
    secrets: tuple[StrictStr, ...] = Field(
        default=(), description="secrets in the cloud's secret store that it may read"
    )

    @model_validator(mode="after")
    def _something(self) -> Self:
        named = (*self.read, *self.write, *self.secrets)
        if not named:
            raise wrong(
                f"'{self.service_account}' has no access to anything",
                "Add read: […], or write: […], or secrets: […]",
            )
        both = sorted({*self.read} & {*self.write})
        if both:
            raise wrong(f"{both[0]} is listed twice", f"Leave {both[0]} out of read: write access includes it")
        if len(set(named)) < len(named):
            raise wrong("a name is listed twice", "Write each name once")
        return self


Identities = Annotated[
    tuple[Identity, ...],
    once(
        "'{0.service_account}' is listed twice",
        "Write it once, with all its access",
        lambda identity: identity.service_account,
    ),
]
