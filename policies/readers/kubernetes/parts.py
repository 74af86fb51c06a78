"""What part a workload plays for the nodes: device plugin, with its configuration that offers one GPU several
times (time slicing, MPS: https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus), autoscaler, evictable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, Final

from facts.concepts.declared import DisruptionBudget
from facts.concepts.kubernetes import SAFE_TO_EVICT
from facts.concepts.unknown import UNKNOWN, Maybe, amount, at, both, items, known_texts, mapping, text, whole
from policies.readers.resource import Declared, Item

# A device plugin registers itself at the kubelet's socket in this folder:
# https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/
_PLUGIN_FOLDER: Final = "/var/lib/kubelet/device-plugins"
# https://github.com/NVIDIA/k8s-device-plugin, https://github.com/GoogleCloudPlatform/container-engine-accelerators
_PLUGIN_IMAGE: Final = re.compile(r"nvidia/k8s-device-plugin|nvidia-gpu-device-plugin")
_GPU_IMAGE: Final = re.compile(r"nvidia|gpu|rocm/|neuron", re.IGNORECASE)
# https://github.com/kubernetes/kubernetes/tree/master/build/pause
_PAUSE_IMAGE: Final = re.compile(r"(?:^|/)(?:mirrored-)?pause(?:-\w+)?(?:[:@]|$)")
# What only starts another command.
_STARTS: Final = re.compile(
    r"(?:(?:(?:\S*/)?(?:(?:ba|da|a)?sh|exec|sudo|nohup|tini|dumb-init|env|busybox|coreutils|timeout|nice|do|python\S*|perl"
    r"|node|pwsh)|(?:conda|(?:micro)?mamba|uv|poetry|pixi) run(?: (?:-n|-p|-e|--name|--prefix|--with) \S+)*)"
    r"(?: (?:-\S+|\w+=\S*|\d+\w?))* )*"
)
# A command that waits, whole: for a ``time``, until somebody ends it (``ever``), as long as nothing else works there
# (``idles``), or for others.
_WAITS: Final = re.compile(
    r"(?:\S*/)?(?:sleep|Start-Sleep) (?P<time>(?:[^|`$]|\$\(\(|\$(?!\())+)"
    r"|(?:time\.)?sleep\((?P<seconds>.*)\)|wait(?: \S+)*"
    r"|(?P<ever>(?:\S*/)?tail (?:-[fFn]+ |--follow\S* |\d+ )+/dev/null"
    r"|signal\.pause\(\)|(?:threading\.)?Event\(\)\.wait\(\))"
    r"|(?P<idles>(?:\S*/)?pause|kill -STOP \S+|(?:\S*/)?watch (?:-\S+ |\d+ )*['\"]?(?:nvidia-smi|gpustat)\b.*"
    r"|gpustat (?:\S+ )*(?:-i|--interval|--watch)\b.*|nvtop|nvitop(?!.* (?:-1|--once)\b)(?: .*)?"
    r"|dcgmi dmon(?!.* (?:-c|--count)\b)(?: .*)?"
    r"|nvidia-smi (?:dmon|pmon)(?! -c)\b.*|nvidia-smi (?:\S+ )*(?:-l|--loop)(?:ms|-ms)?\b.*"
    r"|setInterval\(\(\) ?=> ?\{\}.*)|nvidia-smi (?:dmon|pmon)\b.*"
)
# Three hours or more, or for ever: longer than any autoscaler leaves a node that nobody uses.
_LONG: Final = re.compile(r"\d{5,}|\d+[dh]|inf(?:inity)?\b|\d+ ?\*\* ?\d+|\de\d+|float\(['\"]inf|math\.inf")
# Servers, which nothing but a person ends, and what their programs do at once.
# https://docs.vllm.ai/en/latest/cli/index.html, https://docs.streamlit.io/develop/api-reference/cli/run,
# https://docs.ray.io/en/latest/cluster/cli.html (``--block``: a worker's ends with its head),
# https://python-rq.org/docs/workers/, https://docs.prefect.io/v3/api-ref/cli/worker, https://dramatiq.io/guide.html,
# https://arq-docs.helpmanuals.io, https://taskiq-python.github.io/guide/cli.html, https://huey.readthedocs.io
_SERVES: Final = re.compile(
    r"(?:\S*/)?(?:sshd (?:\S+ )*-\w*D\w*"
    r"|jupyter(?:-| )?(?:lab|notebook|server)(?! (?:build|clean|list|password|paths?|stop)\b)|notebook"
    r"|(?:start|jupyterhub)-(?:notebook|singleuser)(?:\.py|\.sh)?|code-server|openvscode-server|gotty|ttyd|gradio"
    r"|code (?:serve-web|tunnel)|marimo (?:edit|run)|tensorboard|streamlit run"
    r"|vllm serve|vllm\.entrypoints\.\S*api_server|sglang\.launch_server"
    r"|text-generation-launcher|trtllm-serve|tritonserver|ollama serve|llama-server|bentoml serve"
    r"|lmdeploy serve|torchserve (?:\S+ )*--foreground|ipykernel_launcher|ray start (?=.*--head\b)(?:\S+ )*--block"
    r"|celery (?:-\S+ (?:[^-\s]\S* )?)*worker|dramatiq|taskiq worker|faststream run|huey_consumer(?:\.py)?"
    r"|(?:rq worker(?:-pool)?|rqworker|arq)(?!.* (?:-\w*b\w*|--(?:burst|check|max-jobs|max-idle-time))\b)"
    r"|prefect (?:worker|agent) start(?!.* --run-once\b)"
    r"|mlflow (?:models serve|server|ui)|uvicorn|gunicorn|hypercorn|fastapi (?:dev|run)|flask (?:\S+ )*run"
    r"|manage\.py runserver|http\.server)(?= |$)"
    r"(?!.* (?:-h|--help|--version|--generate-config|--check-config|--(?:un)?install-extension|--list-extensions)\b).*"
)
# What a command's output goes to; and what ends one command of a line: after a single `&` a shell does not wait for it.
_OUTPUT: Final = re.compile(r"\d?>&\d|&>>?")
_ENDS_A_COMMAND: Final = re.compile(r"([;\n]|(?<!&)&(?!&))")
_LOOP: Final = re.compile(r"while (?:true|True|:|1|\[ 1 \]):?|until false|while sleep [\w.]+")
# Of a loop's conditions only those that run no program.
_NO_WORK: Final = re.compile(
    r"(?:trap|echo|set|cd|mkdir|export|exit|apt-get|pip)\b[^|`$]*|\w+=[^\s`$]*|date|true|:|nvidia-smi|do|done|#.*"
    r"|for \w+ in [^|`]*|(?:while|until) (?:true|True|false|:|\d+|\[ \d+ \]|sleep [\w.]+):?|(?:import|from) [\w ,.]*"
)
_ENDS: Final = re.compile(r"\btimeout (?:-\S+ )*\d")
# Nothing may ever be evicted: no pod may be missing, or all must be there.
_NONE_MISSING: Final = ("0", "0%")
_ALL_THERE: Final = "100%"


def device_plugin(pod: Any) -> Maybe[bool]:
    """Whether the pod offers the node's GPUs to the kubelet."""
    if _matches(_PLUGIN_IMAGE, pod) is True:
        return True
    paths = [at(volume, "hostPath", "path") for volume in items(at(pod, "volumes"))]
    registers = any(isinstance(path, str) and path.rstrip("/") == _PLUGIN_FOLDER for path in paths)
    if not registers:
        return UNKNOWN if UNKNOWN in paths and _matches(_GPU_IMAGE, pod) is True else False
    return _matches(_GPU_IMAGE, pod)


def never_ends(pod: Any) -> bool:
    """Whether a container only waits, so that the pod holds its GPUs for hours, or until somebody deletes it."""
    if only_pauses(pod) is True:
        return True
    waits = any(_for_ever(_parts(each)) for each in _commands(pod) if not _ENDS.search(each))
    return waits and not ends_in_time(pod)


def ends_in_time(spec: Any) -> bool:
    """Whether the deadline of a pod or Job ends it within a day; one that is not known yet does."""
    seconds = whole(at(spec, "activeDeadlineSeconds"))
    return seconds is UNKNOWN or (seconds is not None and seconds <= _DAY)


_DAY: Final = 24 * 3600


def serves(pod: Any) -> bool:
    """Whether a container is a server, for a person or for programs, which holds its GPUs until it is deleted; unless
    another container may end it."""
    ended = at(pod, "shareProcessNamespace") is True and len(items(at(pod, "containers"))) > 1
    if ended or ends_in_time(pod):
        return False
    return any(_waits_for_a_server(each) for each in _commands(pod) if not _ENDS.search(each))


def only_waits(pod: Any) -> bool:
    """Whether the declared command of each container with a device, or of all where none has one, only waits."""
    containers = items(at(pod, "containers"))
    commands = _commands({"containers": [each for each in containers if _has_device(each)] or containers})
    return bool(commands) and all(_does_nothing(_parts(each)) for each in commands)


def _commands(pod: Any) -> list[str]:
    """Each container's command in one line; empty where it is the image's own."""
    words = ([*items(at(one, "command")), *items(at(one, "args"))] for one in items(at(pod, "containers")))
    return [" ".join(map(str, each)) for each in words]


def _has_device(container: Any) -> bool:
    limits = at(container, "resources", "limits")
    return isinstance(limits, Mapping) and any("/" in str(name) and amount(limits[name]) != 0 for name in limits)


def _parts(command: str) -> list[str]:
    """The commands of a line, without what only starts them, and without comments."""
    parts = re.split(r"[;\n&]+|\|\||(?<=\w): ", re.sub(r"(?<!-c)\s#.*", "", command))
    return [bare for part in parts if (bare := _bare(_STARTS.sub("", part.strip(), count=1)))]


def _does_nothing(parts: list[str]) -> bool:
    """Whether at least one of the commands waits, and the others do no work."""
    waits = [_WAITS.fullmatch(part) is not None for part in parts]
    return any(waits) and all(wait or _NO_WORK.fullmatch(part) for part, wait in zip(parts, waits, strict=True))


def _for_ever(parts: list[str]) -> bool:
    """Whether the commands come to one that waits for long: by itself, in a loop without an end, or beside no work."""
    waits = [_WAITS.fullmatch(part) for part in parts]
    # How many of the commands before each wait, and how many do some work: a script may have thousands of loops.
    waiting = [0, *accumulate(int(wait is not None) for wait in waits)]
    working = [
        0,
        *accumulate(int(not (wait or _NO_WORK.fullmatch(part))) for part, wait in zip(parts, waits, strict=True)),
    ]
    end = len(parts)
    for number in reversed(range(len(parts))):
        wait = waits[number]
        if wait and (wait["ever"] or _LONG.search(wait["time"] or wait["seconds"] or "")):
            return True
        if wait and wait["idles"] and not working[-1]:
            return True
        if parts[number] == "done":
            end = number
        elif _LOOP.fullmatch(parts[number]) and waiting[end] > waiting[number] and working[end] == working[number]:
            return True
    return False


def _waits_for_a_server(command: str) -> bool:
    """Whether a command comes to a server, or starts one beside itself and does nothing else."""
    each = [*_ENDS_A_COMMAND.split(_OUTPUT.sub(">", command)), ""]
    commands = list(zip(each[::2], each[1::2], strict=True))
    own, beside = (_parts("\n".join(text for text, end in commands if (end == "&") is on)) for on in (False, True))
    return any(map(_SERVES.fullmatch, own)) or (_does_nothing(own) and any(map(_SERVES.fullmatch, beside)))


def _bare(part: str) -> str:
    """Without quotes, and the brackets of a group of commands."""
    part = part.strip("'\" ").lstrip("({ ").rstrip("} ")
    return part if "(" in part else part.rstrip(") ")


def only_pauses(pod: Any) -> Maybe[bool]:
    """Whether all containers have Kubernetes' image that does nothing, under any registry; it takes no command."""
    containers = items(at(pod, "containers"))
    return both(map(_pauses, containers)) if containers else False


def _pauses(container: Any) -> Maybe[bool]:
    image = text(at(container, "image"))
    if image is UNKNOWN:
        words = [*items(at(container, "command")), *items(at(container, "args"))]
        return False if any(word is not UNKNOWN for word in words) else UNKNOWN
    return image is not None and _PAUSE_IMAGE.search(image) is not None


def config_maps(pod: Any) -> tuple[str, ...]:
    """The ConfigMaps that the pod mounts, as far as their names are known."""
    names = [at(volume, "configMap", "name") for volume in items(at(pod, "volumes"))]
    return tuple(name for name in names if isinstance(name, str))


_HOSTNAME: Final = "kubernetes.io/hostname"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def each_on_a_node(pod: Any, labels: Mapping[str, Any]) -> bool:
    """Whether no two pods like this one, with these ``labels``, can be on one node: each has the same port of its node,
    keeps such pods off it, or may be one more than on the node with the fewest, which some node without GPUs is.

    https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity,
    https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
    """
    ports = [port for container in items(at(pod, "containers")) for port in items(at(container, "ports"))]
    # On the node's network a port of the container is one of the node.
    own = "containerPort" if at(pod, "hostNetwork") is True else "hostPort"
    if any(amount(at(port, key)) not in (0, UNKNOWN) for port in ports for key in (own, "hostPort")):
        return True
    near, nodes = (at(pod, "affinity", kind, _REQUIRED) for kind in ("podAntiAffinity", "nodeAffinity"))
    if any(_is_for_each_node(term, labels) and at(term, "namespaces") in (None, []) for term in items(near)):
        return True
    anywhere = all(each in (None, {}) for each in (nodes, at(pod, "nodeSelector")))
    return any(
        _is_for_each_node(each, labels)
        and whole(at(each, "maxSkew")) == 1
        and at(each, "whenUnsatisfiable") in (None, "DoNotSchedule")
        and at(each, "nodeTaintsPolicy") in (None, "Ignore")
        and (anywhere or at(each, "nodeAffinityPolicy") == "Ignore")
        for each in items(at(pod, "topologySpreadConstraints"))
    )


def _is_for_each_node(term: Any, labels: Mapping[str, Any]) -> bool:
    """Whether the term is about each node by itself, and about pods with these labels."""
    selector = at(term, "labelSelector")
    if at(term, "topologyKey") != _HOSTNAME or not isinstance(selector, Mapping):
        return False
    if any(at(term, key) not in (None, []) for key in ("matchLabelKeys", "mismatchLabelKeys")):
        return False  # which values these have, a controller decides
    same = mapping(selector.get("matchLabels"))
    if same is UNKNOWN or any(labels.get(key) != value for key, value in same.items()):
        return False
    return all(_selects(each, labels) for each in items(selector.get("matchExpressions")))


def _selects(expression: Any, labels: Mapping[str, Any]) -> bool:
    has, operator = labels.get(str(at(expression, "key"))), at(expression, "operator")
    values = items(at(expression, "values"))
    if operator in ("Exists", "DoesNotExist"):
        return (has is not None) is (operator == "Exists")
    return UNKNOWN not in values and ((has in values) if operator == "In" else has not in values)


def safe_to_evict(metadata: Any) -> Maybe[bool | None]:
    """What the pod's annotation for the cluster autoscaler says."""
    annotation = at(metadata, "annotations", SAFE_TO_EVICT)
    return annotation if annotation in (UNKNOWN, None) else str(annotation).lower() == "true"


def read_budget(declared: Declared) -> Iterable[Item]:
    """A PodDisruptionBudget; a selector by expressions is ``UNKNOWN`` to the rules."""
    spec = declared.properties.get("spec")
    expressions = at(spec, "selector", "matchExpressions")
    yield DisruptionBudget(
        namespace=declared.namespace,
        match_labels=known_texts(at(spec, "selector", "matchLabels")) if expressions in (None, []) else UNKNOWN,
        allows_eviction=_allows_eviction(at(spec, "maxUnavailable"), at(spec, "minAvailable")),
    )


def _allows_eviction(most_missing: Any, least_there: Any) -> Maybe[bool]:
    if UNKNOWN in (most_missing, least_there):
        return UNKNOWN
    if most_missing is not None:
        return _number(most_missing) not in _NONE_MISSING
    return least_there is not None and _number(least_there) != _ALL_THERE


def _number(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) else str(value)


def _matches(pattern: re.Pattern[str], pod: Any) -> Maybe[bool]:
    if pod is UNKNOWN:
        return UNKNOWN
    images = [at(container, "image") for container in items(at(pod, "containers"))]
    if any(isinstance(image, str) and pattern.search(image) for image in images):
        return True
    return UNKNOWN if UNKNOWN in images else False


_SHARING: Final = ("timeSlicing", "mps")
# The configuration is mostly a text inside of a ConfigMap or of a chart's values, in YAML or in JSON.
_SHARED_TEXT: Final = re.compile(r"\b(?:timeSlicing|mps)\b\"?\s*:")
_REPLICAS_TEXT: Final = re.compile(r"\breplicas\b\"?\s*:\s*\"?(\d+)")


def replicated(value: Any) -> Maybe[int | None]:
    """How many times a GPU is offered at most, anywhere in ``value``; ``None`` if it is not shared."""
    counts = list(_counts(value, sharing=False))
    if UNKNOWN in counts:
        return UNKNOWN
    most = max((count for count in counts if count is not UNKNOWN), default=1)
    return most if most > 1 else None


def _counts(value: Any, sharing: bool) -> Iterator[Maybe[int]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            if sharing and key == "replicas":
                yield UNKNOWN if (count := whole(part)) is UNKNOWN else count or 1
            else:
                yield from _counts(part, sharing or key in _SHARING)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _counts(part, sharing)
    elif isinstance(value, str) and "nvidia.com/" in value and (shared := _SHARED_TEXT.search(value)):
        yield from (int(count) for count in _REPLICAS_TEXT.findall(value, shared.start()))
