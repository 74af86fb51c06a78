"""``workloads`` and ``identities``: what jobs need beside GPUs, and what their service accounts may reach."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictInt, StrictStr, ValidationInfo, model_validator
from typing_extensions import Self

from components.settings.fields import Flag, Section, context, wrong
from components.settings.namespaces import LABEL, Namespace, own_namespace
from components.settings.services import InferenceService, distinct_names
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
            f"every pod of the namespace '{namespace}' that names no other is '{text}'",
            f"Name one for the pods that need it, such as {namespace}/trainer",
        )
    return text


def _image(text: str) -> str:
    if not _IMAGE.fullmatch(text):
        raise wrong(
            f"'{text}' is not a name of an image: lower-case letters and digits, '.', '_', '-' and '/' between them",
            "Write for example jobs, or vision/train",
        )
    return text


def _pulled(registries: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    """Registries that the cloud can grant the nodes' identity; on some it is the owner who lets others in."""
    known = context(info).catalog
    if known is None or not registries:
        return registries
    name = known.registry_name
    if name.written is None:
        raise wrong(
            f"on {context(info).cloud} it is a registry's owner who lets nodes of others pull",
            f"Leave it out; {name.instead}",
        )
    for each in registries:
        if not name.written.fullmatch(each):
            raise wrong(f"'{each}' is not a registry as {context(info).cloud} names it", f"Write {name.example}")
    if len(set(registries)) < len(registries):
        raise wrong("a registry is there twice", "Write each once")
    return registries


def _some(images: tuple[str, ...]) -> tuple[str, ...]:
    if not images or len(set(images)) < len(images):
        raise wrong("each image once, and at least one", "Leave it out, or write for example images: [jobs]")
    return images


ServiceAccount = Annotated[StrictStr, AfterValidator(service_account)]
OnDestroy = Annotated[
    Literal["keep", "delete"],
    Field(
        description="`keep`: what `pulumi destroy` leaves in the account, with all that is in it; `delete`: it goes too"
    ),
]
Adopt = Annotated[
    Flag,
    Field(description="take over what an earlier stack of this name, account and region kept, instead of a new one"),
]


class Registry(Section):
    """A private registry for the images of jobs. Nodes may pull; whoever may write in the account may push."""

    images: Annotated[tuple[Annotated[StrictStr, AfterValidator(_image)], ...], AfterValidator(_some)] = Field(
        default=("jobs",),
        description="names of images, for a cloud that wants each announced; elsewhere any name can be pushed",
    )
    mutable_tags: Flag = Field(
        default=False,
        description="a tag may be pushed again with another image; refused by the registry unless given, where it can",
    )
    untagged_days: Annotated[StrictInt, Field(ge=1, le=3650)] | None = Field(
        default=None,
        description="days after which an image without a tag is deleted; 30 unless given, where the registry can",
    )
    on_destroy: OnDestroy = "keep"
    adopt: Adopt = False


class Checkpoints(Section):
    """A private, encrypted bucket that pods of one service account read and write, without a key."""

    service_account: ServiceAccount = Field(
        default="default/trainer", description="namespace/name of the service account; the program makes it"
    )
    undelete_days: Annotated[StrictInt, Field(ge=7, le=90)] = Field(
        default=7, description="days for which what was deleted or overwritten can be had back, 7 to 90"
    )
    on_destroy: OnDestroy = "keep"
    adopt: Adopt = False


class SharedVolume(Section):
    """A file system that all pods of a namespace can mount at once (ReadWriteMany): claim `shared` there."""

    namespace: Namespace = Field(default="default", description="where the claim is; the program makes it")
    size_gib: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None, description="for a cloud that sells a size; the least that it sells unless given"
    )
    on_destroy: OnDestroy = "keep"
    adopt: Adopt = False


Lasting = Registry | Checkpoints | SharedVolume
"""What outlives its stack unless the stack file says otherwise."""


class Workloads(Section):
    """What jobs need beside GPUs; nothing unless written. `{}` is one with its defaults."""

    registry: Registry | None = Field(default=None, description="where images are pushed to; output `registry`")
    pull_from: Annotated[tuple[StrictStr, ...], AfterValidator(_pulled)] = Field(
        default=(),
        description="registries of other projects or accounts that nodes may pull from, as the cloud names them",
    )
    checkpoints: Checkpoints | None = Field(
        default=None, description="where training jobs keep their state; output `checkpoints`"
    )
    shared_volume: SharedVolume | None = Field(
        default=None, description="files that all jobs of a namespace see; output `sharedVolume`"
    )
    services: Annotated[tuple[InferenceService, ...], AfterValidator(distinct_names)] = Field(
        default=(), description="programs that answer requests; output `services`, name to address"
    )
    monitoring: Prometheus | None = Field(
        default=None, description="what GPUs do, and what they cost in vain; output `monitoring`"
    )
    queue: Queue | None = Field(default=None, description="jobs wait for GPUs in a queue, and start as a whole")
    notebook: Notebook | None = Field(default=None, description="notebooks on GPUs, in a browser")
    dashboard: Dashboard | None = Field(default=None, description="a page to look at the cluster")

    @model_validator(mode="after")
    def _served(self) -> Self:
        for each in self.services:
            if each.checkpoint is None:
                continue
            if self.checkpoints is None:
                raise wrong(
                    f"service {each.name} serves checkpoints, and the stack has none", "Write checkpoints: {} beside it"
                )
            owner = self.checkpoints.service_account
            if not owner.startswith(f"{each.namespace}/"):
                raise wrong(
                    f"service {each.name} is in {each.namespace}, and only {owner} may read the checkpoints",
                    f"Write namespace: {owner.partition('/')[0]}",
                )
        return self

    @property
    def tools(self) -> Mapping[str, Tool]:
        """What runs on the admin pool, by key."""
        given = {
            "services": Keda() if self.services else None,
            "monitoring": self.monitoring,
            "queue": self.queue,
            "notebook": self.notebook,
            "dashboard": self.dashboard,
        }
        return {key: tool for key, tool in given.items() if tool is not None}


class Identity(Section):
    """A service account whose pods are somebody in the cloud, without a key."""

    service_account: ServiceAccount = Field(description="namespace/name; the program makes it, and its namespace")
    read: tuple[StrictStr, ...] = Field(default=(), description="buckets whose objects it may read")
    write: tuple[StrictStr, ...] = Field(default=(), description="buckets whose objects it may read, write and delete")
    secrets: tuple[StrictStr, ...] = Field(default=(), description="secrets of the cloud that it may read")

    @model_validator(mode="after")
    def _something(self) -> Self:
        named = (*self.read, *self.write, *self.secrets)
        if not named:
            raise wrong(
                f"'{self.service_account}' may reach nothing", "Write read, write or secrets, each a list of names"
            )
        both = sorted({*self.read} & {*self.write})
        if both or len(set(named)) < len(named):
            what = ", ".join(both) or "a name"
            raise wrong(f"{what} is there twice", "Write each once: what may be written may be read, too")
        return self


def distinct_accounts(identities: tuple[Identity, ...]) -> tuple[Identity, ...]:
    """A service account is one identity."""
    seen: set[str] = set()
    for each in identities:
        if each.service_account in seen:
            raise wrong(f"'{each.service_account}' is there twice", "Write it once, with all that it may reach")
        seen.add(each.service_account)
    return identities
