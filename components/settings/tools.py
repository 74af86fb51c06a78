"""What the cluster runs on its admin pool for the people who work on it: keys of ``workloads``, a section each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, StrictInt, StrictStr, model_validator
from typing_extensions import Self

from components.settings.fields import Section, wrong
from components.settings.namespaces import LABEL
from facts.catalog.model import Resources

_SHARED: Final = "shared-password"


def _object_name(text: str) -> str:
    if not LABEL.fullmatch(text):
        raise wrong(
            f"'{text}' is not a name of an object in a cluster: lower-case letters, digits and '-'",
            "Write for example 'research'",
        )
    return text


ObjectName = Annotated[StrictStr, AfterValidator(_object_name)]


class Tool(Section):
    """Something with pods on the admin pool, for ever: ``pods`` are what each of them asks for."""

    pods: ClassVar[Mapping[str, Resources]]
    volume_gb: ClassVar[int] = 0

    @property
    def asked(self) -> tuple[Resources, ...]:
        """What all its containers ask for."""
        return tuple(self.pods.values())

    @property
    def disk_gb(self) -> int:
        """The volumes that it has for ever."""
        return self.volume_gb


class Prometheus(Tool):
    """Prometheus and Grafana, what GPUs do, and alerts on GPU nodes that are paid for in vain."""

    pods: ClassVar[Mapping[str, Resources]] = {
        "prometheus": Resources(milli_cpu=200, memory_mib=1024),
        "reloader": Resources(milli_cpu=10, memory_mib=32),
        "operator": Resources(milli_cpu=50, memory_mib=128),
        "state-metrics": Resources(milli_cpu=20, memory_mib=128),
        "grafana": Resources(milli_cpu=50, memory_mib=256),
        "sidecar": Resources(milli_cpu=10, memory_mib=96),
        "alertmanager": Resources(milli_cpu=20, memory_mib=64),
    }

    retention_days: Annotated[StrictInt, Field(ge=1, le=365)] = Field(
        default=15, description="days for which measurements are kept, if the volume has room for them"
    )
    disk: Annotated[StrictInt, Field(ge=10, le=16384)] = Field(
        default=50, alias="diskGb", description="GB of the volume of measurements, 10 to 16384"
    )
    alertmanager_secret: ObjectName | None = Field(
        default=None,
        description="a Secret in the namespace `monitoring` whose `alertmanager.yaml` says whom alerts reach; without, "
        "they are seen in Grafana and Prometheus alone",
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
        """The volumes that it has for ever."""
        return self.disk


class Queue(Tool):
    """Kueue: a job waits until its GPUs can be had, all of its pods together, and no node starts for it before."""

    pods: ClassVar[Mapping[str, Resources]] = {"kueue": Resources(milli_cpu=150, memory_mib=512)}


class Notebook(Tool):
    """JupyterHub: whoever logs in chooses a GPU pool; a notebook that is idle ends, and its node goes."""

    pods: ClassVar[Mapping[str, Resources]] = {
        "hub": Resources(milli_cpu=200, memory_mib=512),
        "proxy": Resources(milli_cpu=100, memory_mib=128),
    }
    volume_gb: ClassVar[int] = 1

    login: Literal["shared-password", "native", "github", "gitlab", "google", "azuread", "generic-oauth", "ldap"] = (
        Field(
            default=_SHARED,
            description="who lets people in; `shared-password`: one generated password for all, with any name",
        )
    )
    login_secret: ObjectName | None = Field(
        default=None,
        description="a Secret in the namespace `notebook` whose `values.yaml` holds `hub.config` of that login, with "
        "the client's id and secret",
    )
    image: Annotated[StrictStr, Field(min_length=1)] = Field(
        # Of the hub's own version. CUDA's comes first in a tag:
        # https://jupyter-docker-stacks.readthedocs.io/en/latest/using/selecting.html#cuda-enabled-variants
        default="quay.io/jupyter/pytorch-notebook:cuda12-hub-5.5.0",
        description="what a notebook runs in; needs JupyterHub's single-user server",
    )
    idle_minutes: Annotated[StrictInt, Field(ge=5, le=1440)] = Field(
        default=60,
        description="minutes after which a notebook ends where no cell computes and no terminal prints, 5 to 1440",
    )
    home_gb: Annotated[StrictInt, Field(ge=1, le=16384)] = Field(
        default=10, description="GB of each person's home volume, which stays when the notebook ends"
    )

    @model_validator(mode="after")
    def _login(self) -> Self:
        if self.login != _SHARED and self.login_secret is None:
            raise wrong(
                f"login '{self.login}' lets nobody in before it is told whom",
                "Write loginSecret, a Secret with its settings, or login: shared-password",
            )
        if self.login == _SHARED and self.login_secret is not None:
            raise wrong(
                "loginSecret is for other logins: the shared password is generated",
                "Leave it out, or write login: github (gitlab, google, azuread, generic-oauth, ldap, native)",
            )
        return self


class Dashboard(Tool):
    """Headlamp, a page to look at the cluster; each person sees what their own token lets them."""

    pods: ClassVar[Mapping[str, Resources]] = {"headlamp": Resources(milli_cpu=50, memory_mib=128)}


class Keda(Tool):
    """KEDA and its HTTP add-on, which come with the first of ``services``; no section of the file."""

    pods: ClassVar[Mapping[str, Resources]] = {
        "operator": Resources(milli_cpu=25, memory_mib=96),
        "metrics-server": Resources(milli_cpu=15, memory_mib=64),
        "webhooks": Resources(milli_cpu=10, memory_mib=64),
        "http-operator": Resources(milli_cpu=10, memory_mib=64),
        "scaler": Resources(milli_cpu=15, memory_mib=64),
        "interceptor": Resources(milli_cpu=25, memory_mib=64),
    }
