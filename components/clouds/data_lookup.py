"""Looks up existing resources in the cloud."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import pulumi

from components.clouds.base import minor_of
from components.settings import Problem, Settings, SettingsError

Value = TypeVar("Value")


def data_lookup(
    token: str,
    arguments: Mapping[str, Any],
    parent: pulumi.Resource,
    after: Sequence[pulumi.Resource] = (),
    missing: str = "",
) -> pulumi.Output[Any]:
    """The result of the function ``token``, called once all of ``after`` is up to date; in a preview, which changes
    nothing, at once. There the engine returns no result while one of ``after`` does not exist yet
    (``TestInvokeDependsOnPendingCustomResource`` in
    https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/engine/lifecycletest/invoke_test.go), and a provider treats an
    unknown property as changed, which may show as a replacement
    (https://github.com/pulumi/pulumi-terraform-bridge/blob/main/pkg/tests/diff_test/detailed_diff_unknown_test.go).

    An error with the words ``missing`` is an empty result: what is looked up ended with one of ``after`` that this
    update replaced. Then no argument may be an output.

    The result depends on nothing: ``after`` only delays the call. The SDK would also make it a dependency, and a
    resource that uses the result would then depend on ``after`` once more for each of its properties
    (https://www.pulumi.com/docs/iac/concepts/functions/provider-functions/): in a chain of
    pools as many paths as two to the power of its length, each of which the engine walks when it refuses a destroy
    (``markAsDependency`` in https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/resource/graph/dependency_graph.go).
    """
    depends_on = [] if pulumi.runtime.is_dry_run() else list(after)
    options = pulumi.InvokeOutputOptions(parent=parent, depends_on=depends_on)
    if missing:
        result = pulumi.Output.from_input(_answer_or_nothing(token, arguments, options, missing))
    else:
        result = pulumi.runtime.invoke_output(token, dict(arguments), options)
    return pulumi.Output(
        set(),
        _Deferred(lambda: result.future(with_unknowns=True)),
        _Deferred(result.is_known),
        _Deferred(result.is_secret),
    )


async def _answer_or_nothing(
    token: str, arguments: Mapping[str, Any], options: pulumi.InvokeOutputOptions, missing: str
) -> Any:
    try:
        # The type of the options is too narrow: it waits for what they depend on.
        return await pulumi.runtime.invoke_async(token, dict(arguments), cast("pulumi.InvokeOptions", options))
    except Exception as error:
        if missing in str(error):
            return {}
        raise


def look_up(token: str, arguments: Mapping[str, Any], parent: pulumi.Resource, about: str = "") -> Mapping[str, Any]:
    """The result of the function ``token`` at once; ``about`` is the setting that a failure is about.

    Raises:
        pulumi.RunError: the look-up failed, and it is about a setting.
    """
    try:
        answer: Mapping[str, Any] = pulumi.runtime.invoke(token, arguments, pulumi.InvokeOptions(parent=parent)).value
    except Exception as error:
        if about:
            raise pulumi.RunError(f"{about}: {error}") from error
        raise
    return answer


def refuse(problems: Iterable[Problem], settings: Settings) -> None:
    """End the program if what was looked up has problems.

    Raises:
        pulumi.RunError: all of them.
    """
    listed = list(problems)
    if listed:
        raise pulumi.RunError(str(SettingsError(listed, stack=settings.stack)))


def step_problem(settings: Settings, running: str) -> Problem | None:
    """The problem of a pinned version that skips a minor version of the ``running`` one, which no cloud upgrades:
    https://github.com/kubeflow/code-intelligence/issues/153 (GKE),
    https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html,
    https://learn.microsoft.com/azure/aks/upgrade-aks-cluster.
    """
    written, (major, minor) = settings.kubernetes.version, minor_of(running)
    if written is None or minor_of(written)[1] - minor <= 1:
        return None
    return Problem(
        "kubernetes.version",
        f"cluster {settings.cluster_name} runs {running}, and {settings.cloud.upper()} upgrades by one minor version "
        "at a time",
        f"Write '{major}.{minor + 1}', and '{written}' in a later update",
    )


@dataclass(frozen=True)
class _Deferred(Generic[Value]):
    """Calls ``start`` when awaited, so that a failed result leaves no other unawaited."""

    start: Callable[[], Awaitable[Value]]

    def __await__(self) -> Generator[Any, Any, Value]:
        return self.start().__await__()


def first_block(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The block ``key`` of an answer, which has it as a list of one; empty without any."""
    blocks = value.get(key) or ()
    return cast("Mapping[str, Any]", blocks[0]) if blocks and blocks[0] else {}
