"""``python -m components.settings.moving_in [--stack NAME] FILE...``: see docs/moving-in.md."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from components.settings.moving_in.answer import Answer, OldCluster
from components.settings.moving_in.stack import plain_name, stack_file
from components.settings.problems import SettingsError
from components.settings.read import from_stack_file
from facts import catalog


def main(arguments: Sequence[str]) -> int:
    """Write the stack file and check it; 1 if that is not possible, or if the file has problems."""
    parser = argparse.ArgumentParser(prog="make moving-in")
    parser.add_argument("--stack", help="the stack's name; by default the cluster's")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    try:
        cluster = read([answer for file in options.files for answer in _answers(file)])
        stack = options.stack or plain_name(cluster.name)
        target = Path(f"Pulumi.{stack}.yaml")
        with target.open("x", encoding="utf-8") as file:
            file.write(stack_file(cluster, stack))
    except FileExistsError as error:
        sys.stderr.write(f"{error.filename} exists and is not overwritten: choose another name with STACK=\n")
        return 1
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"wrote {target}\n")
    try:
        from_stack_file(target)
    except SettingsError as error:
        sys.stderr.write(f"{error}\nCorrect {target}, then: make rehearse STACK={stack}\n")
        return 1
    sys.stdout.write(f"It is valid. Read its comments, then: make rehearse STACK={stack}\n")
    return 0


def read(answers: Sequence[Answer]) -> OldCluster:
    """The cluster that the answers describe, whichever cloud's they are.

    Raises:
        ValueError: no cloud's answer, with the commands to run; several clusters; or what the cloud's module refuses.
    """
    rooms = [import_module(f"components.settings.moving_in.{cloud}") for cloud in catalog.clouds()]
    clusters = [(room, cluster) for room in rooms for cluster in room.clusters(answers)]
    if not clusters:
        commands = "\n".join(room.COMMANDS for room in rooms)
        raise ValueError(f"FROM is not the description of a cluster. Run the commands of your cloud:\n{commands}")
    if len(clusters) > 1:
        raise ValueError(f"FROM holds {len(clusters)} clusters; a stack is one cluster")
    ((room, cluster),) = clusters
    old: OldCluster = room.read(cluster, answers)
    return old


def _answers(file: Path) -> Iterator[Answer]:
    """The JSON objects of a file: one, several one after the other, or an array of them."""
    text, decoder = file.read_text(encoding="utf-8").strip(), json.JSONDecoder()
    while text:
        try:
            document, end = decoder.raw_decode(text)
        except ValueError as error:
            raise ValueError(f"{file} is not JSON: {error}; print it with --format json or --output json") from None
        objects = document if isinstance(document, list) else [document]
        yield from (Answer(each) for each in objects if isinstance(each, dict))
        text = text[end:].lstrip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
