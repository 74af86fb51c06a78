"""An image of the working directory, from its Dockerfile or a template, built by docker, podman or buildah."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from gpu.folder import files_of

BUILDERS: Final = ("docker", "podman", "buildah")
_LAST_LINES: Final = 15
_TIMEOUT_SECONDS: Final = 60

# CUDA 12.2 runs on every driver branch that clouds install by default today (R535 and later).
_TEMPLATE: Final = """\
FROM docker.io/nvidia/cuda:12.2.2-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip python-is-python3 \\
    && rm -rf /var/lib/apt/lists/*
WORKDIR /workspace
ENV PYTHONUNBUFFERED=1
{requirements}COPY . .
"""
_REQUIREMENTS: Final = """\
COPY requirements.txt .
RUN pip install --no-cache-dir --requirement requirements.txt
"""
_OWN_LISTS: Final = (".containerignore", ".dockerignore")


class ImageError(Exception):
    """No image could be built or pushed; the message has the last lines of the output, and what to do."""


@dataclass(frozen=True)
class Builder:
    """A program that builds and pushes images."""

    name: str

    def build(self, folder: Path, tag: str, platform: str) -> None:
        """Build the folder's image for the nodes' ``platform`` (``linux/amd64``). Without a Dockerfile it has the
        files that a job would get.

        Raises:
            FolderError: the files cannot be listed.
            ImageError: with the last lines of the build.
        """
        with tempfile.TemporaryDirectory(prefix="gpu-image-") as scratch:
            arguments, environment = ["build", "--platform", platform, "--tag", tag], {**os.environ}
            if not (folder / "Dockerfile").is_file():
                file = Path(scratch) / "Dockerfile"
                file.write_text(dockerfile(folder))
                arguments += ["--file", str(file), *self.ignoring(folder, file)]
                # Without its plugin buildx docker runs the legacy builder, which reads no list beside a Dockerfile and
                # would copy credentials. With this it fails:
                # https://github.com/docker/cli/blob/06eba426/cmd/docker/builder.go
                environment["DOCKER_BUILDKIT"] = "1"
            self._run([*arguments, str(folder)], f"building {tag}", environment)

    def push(self, tag: str) -> None:
        """Push the image. Raises ImageError, for example without permission in the registry."""
        self._run(["push", tag], f"pushing {tag}")

    def ignoring(self, folder: Path, file: Path) -> list[str]:
        """Docker finds the ignore file beside the Dockerfile; the others need an option."""
        # As names of files have them, in any encoding.
        lists = [os.fsdecode((folder / name).read_bytes()) for name in _OWN_LISTS if (folder / name).is_file()]
        ignore = file.with_name("Dockerfile.dockerignore")
        # The last line that matches decides.
        ignore.write_bytes(os.fsencode("\n".join([*lists[:1], *_ignored(folder)]) + "\n"))
        return [] if self.name == "docker" else ["--ignorefile", str(ignore)]

    def _run(self, arguments: Sequence[str], doing: str, environment: Mapping[str, str] | None = None) -> None:
        command = [self.name, *arguments]
        process = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment
        )
        if process.returncode:
            last = "\n".join(f"  {line}" for line in process.stdout.splitlines()[-_LAST_LINES:])
            raise ImageError(f"{doing} failed (exit code {process.returncode}); last lines:\n{last}")


def _ignored(folder: Path) -> Iterator[str]:
    """All of the folder that no job gets, as lines of an ignore file:
    https://docs.docker.com/build/concepts/context/#dockerignore-files"""
    files, _ = files_of(folder)
    kept = {*files}
    folders_kept = {str(above) for name in files for above in Path(name).parents}
    for at, folders, names in os.walk(folder):
        place = Path(at).relative_to(folder)
        for name in (*folders, *names):
            path = str(place / name)
            if path not in kept and path not in folders_kept:
                escaped = re.sub(r"([*?\[\]\\])", r"\\\1", path)
                yield re.sub(r"^[!#\s]|\s$|[\r\n]", "?", escaped)
        folders[:] = [name for name in folders if str(place / name) in folders_kept]


def dockerfile(folder: Path) -> str:
    """The Dockerfile for a folder without one."""
    return _TEMPLATE.format(requirements=_REQUIREMENTS if "requirements.txt" in files_of(folder)[0] else "")


def find_builder() -> Builder:
    """The first builder that works: Docker's client may be installed without its server.

    Raises:
        ImageError: none works.
    """
    installed = [name for name in BUILDERS if shutil.which(name) is not None]
    for name in installed:
        if _answers(name):
            return Builder(name)
    state = f"{', '.join(installed)} does not answer" if installed else f"none of {', '.join(BUILDERS)} is installed"
    raise ImageError(f"cannot build an image: {state}; install one, or use --image or --sync")


def _answers(name: str) -> bool:
    """Whether it works; Podman's program of the name docker takes podman's options, so podman itself is used."""
    questions = ("--version", "version") if name == "docker" else ("info",)
    answers: list[str] = []
    for question in questions:
        try:
            done = subprocess.run(
                [name, question], capture_output=True, timeout=_TIMEOUT_SECONDS, check=True, text=True
            )
        except (OSError, subprocess.SubprocessError):
            return False
        answers.append(done.stdout)
    return not answers[0].startswith("podman version")


def tag_for(registry: str | None, name: str) -> str:
    """A new tag with the current time.

    Raises:
        ImageError: no registry.
    """
    if not registry:
        raise ImageError("the stack has no registry; name one with --registry, or use --image or --sync")
    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    return f"{registry.rstrip('/')}/{name}:{stamp}"
