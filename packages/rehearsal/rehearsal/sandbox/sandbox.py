"""The sandbox of one rehearsal: simulated providers, simulated cloud, control plane and fleet, in one run directory."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.cron_jobs import run_all
from rehearsal.cluster.kubeconfig import write_credential_plugins
from rehearsal.cluster.pki import private_folder
from rehearsal.cluster.processes import Processes
from rehearsal.fleet import KarpenterFleet
from rehearsal.fleet.broken_gpus import break_gpu
from rehearsal.fleet.node_pools import ExhaustedPools
from rehearsal.fleet.reclaim import reclaim, renew_nodes
from rehearsal.providers import account_limits, admission_file, cloud_provider
from rehearsal.providers.call_faults import CallFault, CallFaults

if TYPE_CHECKING:
    from rehearsal.providers.base import Provider

_T = TypeVar("_T")


class Sandbox:
    """Starts everything; a context manager. Inside the block the sandbox is ready."""

    def __init__(
        self,
        run_dir: Path,
        *,
        tools: str | None,
        clouds: Sequence[str],
        inside: bool = False,
        existing: str | None = None,
        account: str | None = None,
        packages: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """``tools`` is the folder with the programs; without one there is no control plane and no fleet.

        ``clouds`` are the clouds' plugins to simulate. ``inside``: the program runs in the cluster's network.
        ``existing`` is a stack file whose existing network is created in the simulated cloud first, ``account`` a file
        of what the account may create and do. ``packages`` are the plugins of another program, name → version: then
        resource types that are not simulated get a default (``providers/echo.py``), and the program makes the cluster.
        """
        self._run_dir = run_dir
        self._tools = Path(tools) if tools else None
        self._clouds = clouds
        self._inside = inside
        self._existing = Path(existing) if existing else None
        self._limits = account_limits.read(Path(account)) if account else account_limits.UNLIMITED
        self._packages = packages
        self._fixtures: tuple[str, ...] = ()
        self._stack = ExitStack()
        self._processes: Processes | None = None
        self._control_plane: ControlPlane | None = None
        self._fleet: KarpenterFleet | None = None
        self._ports: dict[str, int] = {}
        self._providers: list[Provider] = []
        self._created: set[str] = set()
        self._written: dict[str, Any] = {}
        self._exhausted_pools = ExhaustedPools()
        self._call_faults = CallFaults()

    def __enter__(self) -> Sandbox:
        with self._stack as started:
            private_folder(self._run_dir)
            (self._run_dir / "sandbox.json").unlink(missing_ok=True)
            control_plane_ready = self._start_control_plane(started)
            self._start_providers(started)
            if control_plane_ready is not None:
                control_plane_ready.result()
            self.write_facts()
            # Everything has started: from here on, __exit__ stops it.
            self._stack = started.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def check(self) -> None:
        """Raise if a process or a background thread of the sandbox has died."""
        if self._processes is not None:
            self._processes.check()
        if self._fleet is not None:
            self._fleet.check()

    def write_facts(self) -> None:
        """Write ``sandbox.json`` if what it says has changed."""
        facts: dict[str, Any] = {
            "pid": os.getpid(),
            "pids": {} if self._processes is None else self._processes.pids,
            "ports": self._ports,
            "plugins": str(self._plugins),
            "pulumi_home": str(self._pulumi_home),
            "kubeconfig": None,
        }
        if self._control_plane is not None:
            facts["kubeconfig"] = str(self._control_plane.kubeconfig)
            facts["ports"] = {**self._ports, "kube-apiserver": self._control_plane.port}
        if facts != self._written:
            self._write("sandbox", facts)
            self._written = facts

    def answer(self, request: str, *words: str) -> None:
        """Answer a line on standard input by writing ``<request>.json`` (``__main__.py``)."""
        requests: Mapping[str, Callable[..., Any]] = {
            "inventory": self._inventory,
            "exhaust": self._exhaust,
            "inject": self._inject,
            "calls": self._call_faults.report,
            "restart": self._restart,
            "reclaim": self._reclaim,
            "maintain": self._maintain,
            "break": self._break,
            "cron": self._cron,
        }
        self._write(request, requests[request](*words))

    def _inventory(self) -> dict[str, Any]:
        """What the stack has in the account, deleted fixtures, principals (with access to the cluster) and problems."""
        there = [each for provider in self._providers for each in provider.inventory()]
        resources = [each for each in there if each not in self._fixtures]
        resources += [f"deleted: {each}" for each in self._fixtures if each not in there]
        people = {who: asdict(login) for provider in self._providers for who, login in provider.principals().items()}
        evaluated = [each for each in (one.problems() for one in self._providers) if each is not None]
        problems = [problem for each in evaluated for problem in each] if evaluated else None
        return {"resources": resources, "people": people, "problems": problems}

    def _exhaust(self, *pools: str) -> Sequence[str]:
        """Have no further machine for exactly these pools."""
        if self._control_plane is not None:
            self._exhausted_pools.exhaust(self._control_plane.api, pools)
        if self._fleet is not None:
            self._fleet.exhaust(pools)
        for provider in self._providers:
            provider.exhaust(pools)
        return pools

    def _inject(self, plan: str) -> None:
        """Disturb the calls that a file lists, and no others."""
        self._call_faults.plan(CallFault(**fault) for fault in json.loads(Path(plan).read_text()))

    def _restart(self, program: str) -> bool:
        """Kill a program and start it again; whether it ran."""
        if self._processes is None or program not in self._processes.pids:
            return False
        self._processes.restart(program)
        return True

    def _reclaim(self, node: str) -> str:
        """Take back the node's machine as its cloud does: of a group of the fleet's, or one that a simulated provider
        started."""
        if not any(provider.reclaim(node) for provider in self._providers) and self._control_plane is not None:
            reclaim(self._control_plane.api, node)
        return node

    def _break(self, node: str) -> str:
        """One of the node's GPUs fails."""
        if self._control_plane is not None:
            break_gpu(self._control_plane.api, node)
        return node

    def _cron(self) -> list[str]:
        """Run the programs of the cluster's CronJobs once; what each writes."""
        plane, folder = self._control_plane, self._run_dir / "cron-jobs"
        if plane is None:
            return []
        return list(run_all(plane.api, plane.endpoint, plane.ca_pem_base64, folder, self._created))

    def _maintain(self) -> dict[str, Any]:
        """Let the cloud's maintenance window come; what it is, and what it did with GPU nodes."""
        night = next((each for each in (provider.maintain() for provider in self._providers) if each), None)
        nodes: dict[str, str] = {}
        if night is not None and self._control_plane is not None and not night.refused:
            nodes = {**renew_nodes(self._control_plane.api), **dict.fromkeys(night.announced, "announced")}
        return {"night": None if night is None else asdict(night), "nodes": nodes}

    def _write(self, what: str, answer: Any) -> None:
        draft = self._run_dir / f".{what}.json"
        draft.write_text(json.dumps(answer, indent=2))
        draft.replace(self._run_dir / f"{what}.json")

    @property
    def _plugins(self) -> Path:
        return self._run_dir / "plugins"

    @property
    def _pulumi_home(self) -> Path:
        return self._run_dir / "pulumi" / "home"

    def _start_control_plane(self, started: ExitStack) -> Future[None] | None:
        """Begin in the background: importing the providers takes as long on the other core."""
        self._plugins.mkdir(parents=True, exist_ok=True)
        if self._tools is None:
            return None
        self._processes = started.enter_context(Processes(self._run_dir / "logs"))
        admission = admission_file(self._clouds)
        self._control_plane = ControlPlane(
            self._run_dir, tools=self._tools, processes=self._processes, admission=admission
        )
        started.callback(self._control_plane.close)
        # This project's own docs have its users log in for application-default credentials alone.
        write_credential_plugins(self._plugins, self._control_plane.user_token, logged_in=bool(self._packages))
        ready = _in_background(self._control_plane.start)
        # If a provider fails to start, the control plane must have started before it can be stopped.
        started.callback(ready.exception)
        self._fleet = KarpenterFleet(
            self._control_plane, self._run_dir, self._tools, ready=ready.result, inside=self._inside
        )
        started.callback(self._fleet.close)
        return ready

    def _start_providers(self, started: ExitStack) -> None:
        from rehearsal.providers.echo import EchoProvider
        from rehearsal.providers.fixtures import create_fixtures
        from rehearsal.providers.kubernetes import SimulatedKubernetes
        from rehearsal.providers.server import serve, write_launchers

        providers: list[Provider] = [
            *(cloud_provider(cloud, self._run_dir, self._fleet, self._limits) for cloud in self._clouds),
            SimulatedKubernetes((self._plugins,), self._tools, self._created),
        ]
        others = {name: EchoProvider(name, version, self._run_dir) for name, version in self._packages.items()}
        defaults = {each.name: others.get(each.name) for each in providers}
        providers += [each for name, each in others.items() if name not in defaults]
        ports: dict[Provider, int] = {}
        for provider in providers:
            log, default = self._run_dir / "sandbox.log", defaults.get(provider.name)
            server = serve(provider, log_file=log, default=default, interceptors=(self._call_faults,))
            started.callback(provider.close)
            started.callback(server.stop)
            ports[provider] = server.port
            self._ports[provider.name] = server.port
        # The program's package may be of another version than what is simulated.
        ports |= {each: self._ports[name] for name, each in others.items()}
        if self._existing is not None:
            create_fixtures(self._existing, providers[0], with_cluster=not self._packages)
            self._fixtures = tuple(providers[0].inventory())
        write_launchers(self._pulumi_home / "plugins", ports)
        self._providers = [*providers, *(each for each in defaults.values() if each is not None)]


def _in_background(function: Callable[[], _T]) -> Future[_T]:
    """Like an executor's ``submit``, with a daemon thread: interpreter exit does not wait for it."""
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name=getattr(function, "__name__", "background"), daemon=True).start()
    return future
