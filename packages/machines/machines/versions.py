"""Versions of Kubernetes, such as ``1.34``, ``1.34.4`` and ``v1.34.4``, and which may follow on which."""

from __future__ import annotations

_CGROUP_V2: tuple[int, int] = (1, 35)
"""From this kubelet on, cgroup v1 is refused: https://kubernetes.io/docs/concepts/architecture/cgroups/"""


def needs_cgroup_v2(version: str) -> bool:
    """Whether kubelet of ``version`` refuses cgroup v1."""
    return _numbers(version)[:2] >= _CGROUP_V2


def is_newer(declared: str, running: str) -> bool:
    """Whether ``declared``, a minor version or a patch, is above the patch ``running``."""
    target = _numbers(declared)
    return target > _numbers(running)[: len(target)]


def refusal(running: str, declared: str, cgroup: str) -> str:
    """Why a node that runs the patch ``running`` cannot get ``declared``, and what to write instead; empty if it can.

    https://kubernetes.io/releases/version-skew-policy/#supported-component-upgrade-order
    """
    target, own = _numbers(declared), _numbers(running)
    plain = running.removeprefix("v")
    if target < own[: len(target)]:
        return f"Kubernetes {plain} runs there and cannot go back to {declared}: write kubernetes.version: '{plain}'"
    if target[1] > own[1] + 1:
        between = f"{own[0]}.{own[1] + 1}"
        return (
            f"Kubernetes {plain} runs there, and no minor version can be skipped on the way to {declared}: write"
            f" kubernetes.version: '{between}' and `pulumi up` first, or '{own[0]}.{own[1]}' to stay"
        )
    if cgroup == "v1" and needs_cgroup_v2(declared) and not needs_cgroup_v2(running):
        return (
            f"it uses cgroup v1, which kubelet {declared} refuses: boot it with cgroup v2 and `pulumi refresh`, or"
            f" write kubernetes.version: '{own[0]}.{own[1]}'"
        )
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").partition("-")[0].split("."))
