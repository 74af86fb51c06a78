"""``workloads.services``: inference services on GPUs that scale to zero without requests."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import Field, StrictInt, StrictStr, model_validator
from typing_extensions import Self

from components.settings.fields import Flag, Minutes, Section, matching, once, wrong
from components.settings.namespaces import Namespace

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

    name: ServiceName
    image: StrictStr
    command: tuple[StrictStr, ...] = ()
    namespace: Namespace = "default"
    gpu: StrictStr | None = None
    gpus: Annotated[StrictInt, Field(ge=1, le=16)] = 1
    memory_gib: Annotated[StrictInt, Field(ge=1)] | None = None
    spot: Flag | None = None
    port: Annotated[StrictInt, Field(ge=1, le=65535)] = 8000
    health: Annotated[StrictStr, Field(pattern=r"^/")] = "/"
    min: Annotated[StrictInt, Field(ge=0, le=100)] = 0
    max: Annotated[StrictInt, Field(ge=1, le=100)] = 1
    concurrency: Annotated[StrictInt, Field(ge=1, le=10000)] = 8
    idle_minutes: Minutes = 10
    checkpoint: StrictStr | None = None

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
