"""Options that several subcommands have."""

from __future__ import annotations

from typing import Annotated

import typer

Context = Annotated[
    str | None,
    typer.Option("--context", metavar="NAME", help="A context of your kubeconfig. Default: the current one."),
]
Team = Annotated[
    str | None,
    typer.Option("--team", "-n", metavar="NAME", help="The team's namespace. Default: the context's namespace."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Gpus = Annotated[int, typer.Option("--gpus", min=1, metavar="N", help="GPUs per pod.")]
Gpu = Annotated[
    str | None,
    typer.Option("--gpu", metavar="TYPE", help="A GPU type or whole words of its name: a100, l4 (not l40s)."),
]
Memory = Annotated[str | None, typer.Option("--memory", metavar="SIZE", help="Memory per pod: 200Gi.")]
Cpus = Annotated[str | None, typer.Option("--cpus", metavar="N", help="CPUs per pod: 8, 500m.")]
Disk = Annotated[str | None, typer.Option("--disk", metavar="SIZE", help="Ephemeral storage per pod: 50Gi.")]
Spot = Annotated[
    bool | None, typer.Option("--spot/--no-spot", help="Only spot nodes, or only on-demand nodes. Default: either.")
]
Workers = Annotated[int, typer.Option("--workers", min=1, metavar="N", help="Pods that run together, all at once.")]
Index = Annotated[int, typer.Option("--index", min=0, metavar="N", help="Index of the sweep's run, or of the worker.")]
