"""``workloads.services``: inference services on GPUs that scale to zero without requests."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StrictInt, StrictStr, model_validator
from typing_extensions import Self

from components.settings.fields import Flag, Minutes, Section, wrong
from components.settings.namespaces import Namespace

# A second Service is named <name>-pods: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,48}[a-z0-9])?")


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise wrong(
            f"'{text}' is not a valid Service name: lower-case letters, digits and '-', a letter first, 50 at most",
            "Write for example llama",
        )
    return text


class InferenceService(Section):
    """An HTTP server on the cheapest pool that fits, at `http://<name>.<namespace>:8080`."""

    name: Annotated[StrictStr, AfterValidator(_name)]
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


def distinct_names(services: tuple[InferenceService, ...]) -> tuple[InferenceService, ...]:
    """Names are unique in a namespace."""
    names: set[tuple[str, str]] = set()
    for each in services:
        if (each.namespace, each.name) in names:
            raise wrong(f"'{each.name}' is listed twice in {each.namespace}", "Give each a unique name")
        names.add((each.namespace, each.name))
    return services
