"""Tools for the cluster's users that run on the admin pool: keys of ``workloads``, a section each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, StrictInt, StrictStr, model_validator
from typing_extensions import Self

from components.settings.fields.namespaces import LABEL
from components.settings.fields.types import ContainerImage, Section, matching, wrong
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

    retention_days: Annotated[StrictInt, Field(ge=1, le=365)] = Field(
        default=15, description="days for which metrics are kept, if the volume has room"
    )
    disk: Annotated[StrictInt, Field(ge=10, le=16384)] = Field(
        default=50, alias="diskGb", description="size of the metrics volume in GB, 10 to 16384"
    )
    alertmanager_secret: ObjectName | None = Field(
        default=None,
        description="Secret in namespace `monitoring` whose `alertmanager.yaml` names the receivers of alerts. "
        "Default: alerts are visible only in Grafana and Prometheus",
    )

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
        Field(
            default=_SHARED,
            description="how users log in. `shared-password`: one generated password, with any user name",
        )
    )
    login_secret: ObjectName | None = Field(
        default=None,
        description="Secret in namespace `notebook` whose `values.yaml` holds `hub.config` of that login, with client "
        "ID and secret",
    )
    image: ContainerImage = Field(
        default="quay.io/jupyter/pytorch-notebook:cuda12-hub-5.5.0",
        description="image of a notebook; needs JupyterHub's single-user server",
    )
    idle_minutes: Annotated[StrictInt, Field(ge=5, le=1440)] = Field(
        default=60,
        description="minutes after which a notebook without running cells and terminal output is stopped, 5 to 1440",
    )
    home_gb: Annotated[StrictInt, Field(ge=1, le=16384)] = Field(
        default=10, description="size in GB of each user's home volume, which is kept when the notebook stops"
    )

    @model_validator(mode="after")
    def _login(self) -> Self:
        if self.login != _SHARED and self.login_secret is None:
            raise wrong(
                f"login '{self.login}' needs settings of its own, such as a client ID: without them no user can log in",
                "Write loginSecret: …, the name of a Secret with these settings, or login: shared-password",
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
