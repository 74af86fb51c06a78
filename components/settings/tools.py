"""Tools for the cluster's users that run on the admin pool: keys of ``workloads``, a section each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, StrictInt, StrictStr, model_validator
from typing_extensions import Self

from components.settings.fields import Section, matching, wrong
from components.settings.namespaces import LABEL
from facts.catalog.model import Resources
from facts.catalog.tables import parsed

_SHARED: Final = "shared-password"


ObjectName = Annotated[
    StrictStr,
    matching(
        LABEL,
        "is not a valid name of a Kubernetes object: lower-case letters, digits and '-'",
        "Write for example 'research'",
    ),
]


def _pods(tool: str) -> Mapping[str, Resources]:
    """What each of its containers requests, from ``tools.csv``."""
    table = Path(__file__).with_name("tools.csv").read_text(encoding="utf-8")
    return {
        row["pod"]: Resources(milli_cpu=int(row["milli_cpu"]), memory_mib=int(row["memory_mib"]))
        for row in parsed(table)
        if row["tool"] == tool
    }


class Tool(Section):
    """Something that always has pods on the admin pool: ``pods`` are the requests of each."""

    pods: ClassVar[Mapping[str, Resources]]
    volume_gb: ClassVar[int] = 0

    @property
    def asked(self) -> tuple[Resources, ...]:
        """The requests of all its containers."""
        return tuple(self.pods.values())

    @property
    def disk_gb(self) -> int:
        """Size of its permanent volumes."""
        return self.volume_gb


class Prometheus(Tool):
    """Prometheus and Grafana: GPU metrics, and alerts on GPU nodes that are paid for but idle."""

    pods: ClassVar = _pods("monitoring")

    retention_days: Annotated[StrictInt, Field(ge=1, le=365)] = 15
    disk: Annotated[StrictInt, Field(ge=10, le=16384)] = Field(default=50, alias="diskGb")
    alertmanager_secret: ObjectName | None = None

    @property
    def asked(self) -> tuple[Resources, ...]:
        """Grafana has two sidecars; Prometheus one reloader, and Alertmanager one of its own."""
        optional = ("alertmanager",) if self.alertmanager_secret is None else ()
        usual = [asked for name, asked in self.pods.items() if name not in optional]
        twice = ("sidecar",) if optional else ("sidecar", "reloader")
        return (*usual, *(self.pods[name] for name in twice))

    @property
    def disk_gb(self) -> int:
        """Size of its permanent volumes."""
        return self.disk


class Queue(Tool):
    """Kueue: a job waits until all of its GPUs are available. No node starts for it before that."""

    pods: ClassVar = _pods("queue")


class Notebook(Tool):
    """JupyterHub: users choose a GPU pool when they log in. An idle notebook is stopped, and its node is removed."""

    pods: ClassVar = _pods("notebook")
    volume_gb: ClassVar[int] = 1

    login: Literal["shared-password", "native", "github", "gitlab", "google", "azuread", "generic-oauth", "ldap"] = (
        _SHARED
    )
    login_secret: ObjectName | None = None
    image: Annotated[StrictStr, Field(min_length=1)] = Field(
        default="quay.io/jupyter/pytorch-notebook:cuda12-hub-5.5.0"
    )
    idle_minutes: Annotated[StrictInt, Field(ge=5, le=1440)] = 60
    home_gb: Annotated[StrictInt, Field(ge=1, le=16384)] = 10

    @model_validator(mode="after")
    def _login(self) -> Self:
        if self.login != _SHARED and self.login_secret is None:
            raise wrong(
                f"login '{self.login}' needs settings of its own, such as a client ID: without them no user can log in",
                "Write loginSecret, a Secret with these settings, or login: shared-password",
            )
        if self.login == _SHARED and self.login_secret is not None:
            raise wrong(
                "loginSecret is for other logins: the shared password is generated",
                "Leave it out, or write login: github (gitlab, google, azuread, generic-oauth, ldap, native)",
            )
        return self


class Dashboard(Tool):
    """Headlamp, a web page that shows the cluster. Users see what their own token permits."""

    pods: ClassVar = _pods("dashboard")


class Keda(Tool):
    """KEDA and its HTTP add-on, which come with the first of ``services``; no section of the file."""

    pods: ClassVar = _pods("keda")
