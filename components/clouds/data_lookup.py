"""Questions to a cloud about what is there already."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pulumi

Value = TypeVar("Value")


def data_lookup(
    token: str, arguments: Mapping[str, Any], parent: pulumi.Resource, after: Sequence[pulumi.Resource] = ()
) -> pulumi.Output[Any]:
    """The answer to the function ``token``, asked when all of ``after`` is up to date; in a preview, which changes
    nothing, at once. There the engine gives no answer as long as one of ``after`` is still to be made
    (``TestInvokeDependsOnPendingCustomResource`` in
    https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/engine/lifecycletest/invoke_test.go), and a provider takes a
    property that it does not know for one that changes, which may show as a replacement
    (https://github.com/pulumi/pulumi-terraform-bridge/blob/main/pkg/tests/diff_test/detailed_diff_unknown_test.go).

    It depends on nothing: ``after`` is when to ask, not what the answer is made of. The SDK takes it for both, and what
    is made with the answer would then depend on ``after`` once more for each of its properties
    (https://www.pulumi.com/docs/iac/concepts/functions/provider-functions/): in a chain of
    pools as many paths as two to the power of its length, each of which the engine walks when it refuses a destroy
    (``markAsDependency`` in https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/resource/graph/dependency_graph.go).
    """
    turn = [] if pulumi.runtime.is_dry_run() else list(after)
    options = pulumi.InvokeOutputOptions(parent=parent, depends_on=turn)
    answer = pulumi.runtime.invoke_output(token, dict(arguments), options)
    return pulumi.Output(
        set(), _Asked(lambda: answer.future(with_unknowns=True)), _Asked(answer.is_known), _Asked(answer.is_secret)
    )


@dataclass(frozen=True)
class _Asked(Generic[Value]):
    """Awaits what ``ask`` returns, which is not asked before: an answer that failed leaves no other unawaited."""

    ask: Callable[[], Awaitable[Value]]

    def __await__(self) -> Generator[Any, Any, Value]:
        return self.ask().__await__()
