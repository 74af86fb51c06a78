"""``workloads`` and ``identities``: what jobs need besides GPUs, and what their service accounts have access to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictInt, StrictStr, ValidationInfo, model_validator
from typing_extensions import Self

from components.settings.fields import Flag, Section, context, matching, once, wrong
from components.settings.namespaces import LABEL, Namespace, own_namespace
from components.settings.services import Services
from components.settings.tools import Dashboard, Keda, Notebook, Prometheus, Queue, Tool

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
    own_namespace(namespace)
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

    images: Annotated[tuple[ImageName, ...], AfterValidator(_some)] = ("jobs",)
    mutable_tags: Flag = False
    untagged_days: Annotated[StrictInt, Field(ge=1, le=3650)] | None = None
    on_destroy: OnDestroy = "keep"
    adopt: Adopt = False


class Checkpoints(Section):
    """A private, encrypted bucket that pods of one service account read and write without a key."""

    service_account: ServiceAccount = "default/trainer"
    undelete_days: Annotated[StrictInt, Field(ge=7, le=90)] = 7
    on_destroy: OnDestroy = "keep"
    adopt: Adopt = False


class SharedVolume(Section):
    """A file system that all pods of a namespace can mount at once (ReadWriteMany), as claim `shared`."""

    namespace: Namespace = "default"
    size_gib: Annotated[StrictInt, Field(ge=1)] | None = None
    on_destroy: OnDestroy = "keep"
    adopt: Adopt = False


Lasting = Registry | Checkpoints | SharedVolume
"""Retained on `pulumi destroy` unless the stack file says otherwise."""


class Workloads(Section):
    """What jobs need besides GPUs. Everything is off by default; `{}` enables an item with its defaults."""

    registry: Registry | None = None
    pull_from: Annotated[tuple[StrictStr, ...], AfterValidator(_pulled)] = ()
    checkpoints: Checkpoints | None = None
    shared_volume: SharedVolume | None = None
    services: Services = ()
    monitoring: Prometheus | None = None
    queue: Queue | None = None
    notebook: Notebook | None = None
    dashboard: Dashboard | None = None

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

    service_account: ServiceAccount
    read: tuple[StrictStr, ...] = ()
    write: tuple[StrictStr, ...] = ()
    secrets: tuple[StrictStr, ...] = ()

    @model_validator(mode="after")
    def _something(self) -> Self:
        named = (*self.read, *self.write, *self.secrets)
        if not named:
            raise wrong(
                f"'{self.service_account}' has no access to anything",
                "Write read, write or secrets, each a list of names",
            )
        both = sorted({*self.read} & {*self.write})
        if both or len(set(named)) < len(named):
            what = ", ".join(both) or "a name"
            raise wrong(f"{what} is listed twice", "Write each once: write access includes read access")
        return self


Identities = Annotated[
    tuple[Identity, ...],
    once(
        "'{0.service_account}' is listed twice",
        "Write it once, with all its access",
        lambda identity: identity.service_account,
    ),
]
