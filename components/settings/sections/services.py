"""``workloads.services``: inference services on GPUs that scale to zero without requests."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import Field, StrictInt, StrictStr, model_validator
from typing_extensions import Self

from components.settings.fields.namespaces import Namespace
from components.settings.fields.types import ContainerImage, Flag, Minutes, Section, matching, once, wrong

# A second Service is named <name>-pods: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,48}[a-z0-9])?")


ServiceName = Annotated[
    StrictStr,
    matching(
        _NAME,
        "is not a valid Service name: lower-case letters, digits and '-', a letter first, 50 at most",
        "Write for example llama",
    ),
]


class InferenceService(Section):
    """An HTTP server on the cheapest pool that fits, at `http://<name>.<namespace>:8080`."""

    name: ServiceName = Field(description="name of the service in the cluster")
    image: ContainerImage = Field(description="container image; nodes must be able to pull it")
    command: tuple[StrictStr, ...] = Field(default=(), description="command that replaces the image's own")
    namespace: Namespace = Field(default="default", description="namespace of the service; the program creates it")
    gpu: StrictStr | None = Field(default=None, description="GPU type, or part of its name. Default: any GPU")
    gpus: Annotated[StrictInt, Field(ge=1, le=16)] = Field(default=1, description="GPUs per replica")
    memory_gib: Annotated[StrictInt, Field(ge=1)] | None = Field(default=None, description="memory per replica in GiB")
    spot: Flag | None = Field(
        default=None, description="`true`: spot nodes only. `false`: no spot nodes. Default: either"
    )
    port: Annotated[StrictInt, Field(ge=1, le=65535)] = Field(
        default=8000, description="port that the container listens on"
    )
    health: Annotated[StrictStr, Field(pattern=r"^/")] = Field(
        default="/", description="path that answers 200 when the container is ready, and only then"
    )
    min: Annotated[StrictInt, Field(ge=0, le=100)] = Field(
        default=0, description="replicas that always run. Their GPU nodes never scale to zero (output `cost`)"
    )
    max: Annotated[StrictInt, Field(ge=1, le=100)] = Field(default=1, description="maximum replicas")
    concurrency: Annotated[StrictInt, Field(ge=1, le=10000)] = Field(
        default=8, description="concurrent requests per replica above which another replica starts"
    )
    idle_minutes: Minutes = Field(
        default=10, description="minutes without a request after which the last replica stops"
    )
    checkpoint: StrictStr | None = Field(
        default=None,
        description="job whose checkpoints the service loads. `CHECKPOINTS` holds their location, as in the job",
    )

    @model_validator(mode="after")
    def _floor(self) -> Self:
        if self.min > self.max:
            raise wrong(f"min: {self.min} is above max: {self.max}", f"Write max: {self.min} or more")
        return self


Services = Annotated[
    tuple[InferenceService, ...],
    once(
        "'{0.name}' is listed twice in {0.namespace}",
        "Give each a unique name",
        lambda service: (service.namespace, service.name),
    ),
]
