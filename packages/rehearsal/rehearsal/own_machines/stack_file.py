"""The stack file of own machines as it is rehearsed: its machines by name and address, with the lab's keys.

What is replaced, because only its owner has it: host keys, the private key and its user, jump hosts, package sources,
image mirrors. What is left out, because the lab has no software for it: MetalLB, proprietary kernel modules.
"""

from __future__ import annotations

import copy
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from components.settings import Settings
from facts.concepts.pool import Pool
from rehearsal.lab.specs import MachineSpec

PREFIX: Final = "gpucluster:"
_POOLS: Final = ("gpuPools", "cpuPools")
# https://admin.pci-ids.ucw.cz/read/PC/10de: what the simulated driver is asked to find.
_DEVICE_IDS: Final[Mapping[str, str]] = {"nvidia-t4": "0x1eb8", "nvidia-l4": "0x27b8", "nvidia-a100-40gb": "0x20b0"}
_ANY_DEVICE: Final = "0x2330"


def machines(settings: Settings) -> list[MachineSpec]:
    """The machines of a stack, as a lab makes them."""
    own: Any = settings.own
    return [
        MachineSpec(machine.name, machine.address, *gpus_of(pool))
        for pool in (settings.admin_pool, *settings.pools)
        for machine in own.machines[pool.name]
    ]


def gpus_of(pool: Pool) -> tuple[int, str]:
    """How many GPUs a machine of the pool has, and their PCI id."""
    return (pool.gpus_per_node, _DEVICE_IDS.get(pool.gpus.type, _ANY_DEVICE)) if pool.gpus_per_node else (0, "")


def write_config(path: Path, config: Mapping[str, Any], secret: str) -> None:
    """Write a stack file; what the engine keeps in the same file stays: its salt and the key ``secret``, encrypted."""
    existing = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    encrypted = {key: value for key, value in (existing.get("config") or {}).items() if key == secret}
    path.write_text(yaml.safe_dump({**existing, "config": {**config, **encrypted}}, sort_keys=False), encoding="utf-8")


class LabStackFile:
    """A copy of a stack file for the lab; ``without`` and ``write`` change the copy."""

    def __init__(self, original: Path, host_keys: Mapping[str, str], user: str, sources: str, key: Path) -> None:
        """``host_keys``: machine → public key. ``sources`` is the address of the package sources, signed by ``key``."""
        content = yaml.safe_load(original.read_text(encoding="utf-8"))
        self._config: dict[str, Any] = content["config"]
        for machine in self._machines(self._config):
            machine["hostKey"] = host_keys[machine["name"]]
            machine.pop("user", None)
            machine.pop("port", None)
        self._config.pop(f"{PREFIX}sshPrivateKey", None)
        (self._config.get(f"{PREFIX}network") or {}).pop("loadBalancerRange", None)
        for pool in self._config[f"{PREFIX}gpuPools"]:
            pool.pop("kernelModules", None)
        self._config[f"{PREFIX}ssh"] = {"user": user}
        signed = {"key": f"{sources}/key.asc", "fingerprint": _fingerprint(key)}
        folders = {"kubernetes": "kubernetes", "driver": "nvidia", "toolkit": "toolkit"}
        self._config[f"{PREFIX}packages"] = {
            name: {"url": f"{sources}/{folder}/", **signed} for name, folder in folders.items()
        }

    def write(
        self,
        path: Path,
        *,
        without: str = "",
        version: str = "",
        planes: int | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Write it, without the machine of that name: then no team may have more GPUs than are left.

        With ``planes``, so many control planes. What stays for the next time: a later ``version`` of Kubernetes, from a
        repository of its own; more ``labels`` of the GPU pools.
        """
        for pool in self._config[f"{PREFIX}gpuPools"] if labels else ():
            pool["labels"] = {**pool.get("labels", {}), **(labels or {})}
        if version:
            self._config[f"{PREFIX}kubernetes"] = {"version": version}
            source = self._config[f"{PREFIX}packages"]["kubernetes"]
            source["url"] = source["url"].replace("/kubernetes/", "/kubernetes-later/")
        config = copy.deepcopy(self._config)
        admin = config[f"{PREFIX}adminPool"]
        admin["machines"] = admin["machines"][:planes]
        for machines in self._lists(config):
            machines[:] = [machine for machine in machines if machine["name"] != without]
        for key in _POOLS:
            pools = config.get(f"{PREFIX}{key}") or []
            pools[:] = [pool for pool in pools if pool["machines"]]
        gpus = sum(pool.get("gpusPerNode", 1) * len(pool["machines"]) for pool in config[f"{PREFIX}gpuPools"])
        for team in config.get(f"{PREFIX}teams") or []:
            team["gpus"] = min(team["gpus"], gpus)
        write_config(path, config, f"{PREFIX}sshPrivateKey")

    @staticmethod
    def _lists(config: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
        yield config[f"{PREFIX}adminPool"]["machines"]
        for key in _POOLS:
            yield from (pool["machines"] for pool in config.get(f"{PREFIX}{key}") or ())

    @classmethod
    def _machines(cls, config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for machines in cls._lists(config):
            yield from machines


def _fingerprint(key: Path) -> str:
    shown = subprocess.run(
        ["gpg", "--show-keys", "--with-colons", str(key)], check=True, capture_output=True, text=True
    ).stdout
    return next(line.split(":")[9] for line in shown.splitlines() if line.startswith("fpr:"))
