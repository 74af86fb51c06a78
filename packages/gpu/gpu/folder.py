"""The working directory as an archive for the job: without what ``.gitignore`` lists, and not too large."""

from __future__ import annotations

import fnmatch
import gzip
import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from facts.concepts.counts import counted
from facts.jobs.job import PART_BYTES

IMAGE: Final = (
    "docker.io/pytorch/pytorch:2.7.1-cuda12.6-cudnn9-runtime"
    "@sha256:2b59b1b91885677814f78be1f8df48a25d5dc952eb6580eaecfefca510f9afd3"
)
"""The image of synced folders: Python, PyTorch and CUDA 12. All of CUDA 12 runs on the drivers of all clouds (R535 and
later): https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html"""

IGNORED: Final = frozenset(
    (".git", ".venv", "venv", "__pycache__", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache")
)
"""Folders that no program needs."""
CREDENTIALS: Final = (
    # Shells, code hosts, package indexes, keys
    *("*.env", ".env.*", "env.local", "env.production", ".*_history"),
    *(".env", ".envrc", ".envrc.*", "*.git/config", ".git-credentials", ".gitconfig", ".gnupg", ".netrc", "_netrc"),
    *(".npmrc", ".pypirc", "pip.conf", ".yarnrc.yml", ".sentryclirc"),
    *(
        ".cargo/credentials*",
        ".composer/auth.json",
        ".config/gh",
        ".config/glab-cli",
        ".config/hub",
        ".gem/credentials",
        ".htpasswd",
    ),
    *(".m2/settings.xml", "*.kdbx"),
    *(
        ".ssh",
        "*id_dsa",
        "*id_ecdsa",
        "*id_ecdsa_sk",
        "*id_ed25519",
        "*id_ed25519_sk",
        "*id_rsa",
        "*.jks",
        "*.key",
        "*.p12",
        "*.pem",
        "*.pfx",
        "*.ppk",
    ),
    # Clouds and clusters
    *(".aws", ".azure", ".boto", ".config/doctl", ".config/gcloud", ".kube", ".oci", ".s3cfg", "*kubeconfig*"),
    *("rclone.conf", ".snowflake", "*-adminsdk-*.json", "token.json"),
    *("application_default_credentials.json", "client_secret*.json", "*credentials*.json", "service[-_]account*.json"),
    # Containers, infrastructure, secret stores, databases
    *("containers/auth.json", ".dockerconfigjson", "local.settings.json", "*.tfvars.json"),
    *(".docker", ".dockercfg", ".pulumi", ".terraform.d", ".terraformrc", "*.tfstate", "*.tfstate.*", "*.tfvars"),
    *(".vault-token", ".my.cnf", ".pgpass", "secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml"),
    *("secret.json", "secret.toml", "secret.yaml", "secret.yml", ".cdsapirc"),
    # Machine learning
    *(".cache/huggingface", ".comet.config", ".databrickscfg", ".huggingface", ".kaggle", "kaggle.json", ".modal.toml"),
    *("hf_token", "wandb/settings", ".dvc/config.local"),
    *(".config/wandb", ".lightning", ".ngc", ".runpod", ".sky", ".streamlit/secrets.toml"),
)
"""Names of files and folders in any case, and ends of paths, in which tools keep credentials. What is synced, all users
of the namespace can read."""
EXAMPLES: Final = (".env.example", ".env.sample", ".env.template")
"""Files of such names that hold none."""
_IN_JSON: Final = re.compile(rb'"(?:private_key|refresh_token)"\s*:')
"""In keys of Google's service accounts and tokens of its users, whatever the file is called."""
_PRIVATE_KEY: Final = re.compile(rb"^-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----\r?$", re.MULTILINE)
_OF_KEYS: Final = 64 * 1024
"""Bytes: no such file has more."""
MOST_BYTES: Final = 8 * PART_BYTES
"""Of the compressed archive. It is in etcd, which has room for a few gigabytes."""
MOST_READ: Final = 256 * 1024 * 1024
"""Of a folder that is copied at all."""
_LARGEST: Final = 3
_LONGEST_SECONDS: Final = 120
"""For git to list a folder: minutes on a slow network's disk, no end where a file is a pipe."""


class FolderError(Exception):
    """The folder cannot be synced; the message says what to do."""


@dataclass(frozen=True)
class FolderArchive:
    """A compressed tar archive of ``files``, relative to the folder, without what is ``left_out``: credentials.
    ``sizes`` are those of the files."""

    content: bytes
    files: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{counted(len(self.files), 'file')}, {_size(len(self.content))} compressed{self.warning}"

    def check(self, most: int) -> None:
        """Raises FolderError if the compressed archive has more bytes."""
        if len(self.content) > most:
            raise _too_large(len(self.content), most, self.sizes, " compressed")

    @property
    def warning(self) -> str:
        """What is left out, and what to do instead; empty if nothing is."""
        return left_out_because(self.left_out, "all users of the namespace")


def left_out_because(left_out: Sequence[str], readers: str) -> str:
    """That ``readers`` could read the files, and what to do instead; empty if there are none."""
    if not left_out:
        return ""
    named = ", ".join(left_out[:_LARGEST])
    more = f" and {len(left_out) - _LARGEST} more" if len(left_out) > _LARGEST else ""
    return (
        f"; left out because {readers} could read it: {named}{more}. Give a service account "
        "access to secrets (`identities` of the stack file), and another name to a file without passwords"
    )


def files_of(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files of the folder that a job or its image gets, and what is left out: credentials.

    Raises:
        FolderError: it is the home directory, or has a .gitignore and git is not installed.
    """
    if folder in (Path.home(), Path(folder.anchor)):
        raise FolderError(f"{folder} is not synced; run `gpu submit` in the folder of your program, or use --image")
    names = sorted({*_files(folder)})
    left_out = {name: held for name in names if (held := _credentials(name) or _key_file(folder, name))}
    return tuple(name for name in names if name not in left_out), tuple(dict.fromkeys(left_out.values()))


def pack(folder: Path, most: int = MOST_BYTES) -> FolderArchive:
    """The folder's files; no content if there are none. ``most``: bytes of the compressed archive.

    Raises:
        FolderError: it is too large, the home directory, or has a .gitignore and git is not installed.
    """
    files, left_out = files_of(folder)
    sizes = {name: (folder / name).lstat().st_size for name in files}
    if sum(sizes.values()) > MOST_READ:
        raise _too_large(sum(sizes.values()), MOST_READ, sizes, "")
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as archive:
        for name in files:
            try:
                archive.add(folder / name, name, recursive=False, filter=_anonymous)
            except OSError as error:  # as containers leave them that run as root
                remedy = "list it in .gitignore, or give it to yourself (chown)"
                raise FolderError(f"{name} cannot be read: {error.strerror}; {remedy}") from error
    content = buffer.getvalue() if files else b""
    archive = FolderArchive(content, files, left_out, sizes)
    archive.check(most)
    return archive


def _credentials(name: str) -> str:
    """The part of a path up to the name that tools keep credentials by; empty without one."""
    parts = Path(name).parts
    for index, part in enumerate(parts):
        above = "/".join(parts[max(index - 1, 0) : index + 1])
        if part not in EXAMPLES and any(
            fnmatch.fnmatchcase((above if "/" in pattern else part).lower(), pattern) for pattern in CREDENTIALS
        ):
            return str(Path(*parts[: index + 1]))
    return ""


def _key_file(folder: Path, name: str) -> str:
    """The file, if it is JSON with a key in it, or a private key; empty otherwise. A program is one that names keys."""
    file = folder / name
    if name.endswith((".py", ".sh")) or file.is_symlink() or not file.is_file() or not os.access(file, os.R_OK):
        return ""
    text = file.read_bytes() if file.stat().st_size <= _OF_KEYS else b""
    held = _PRIVATE_KEY.search(text) or (name.lower().endswith(".json") and _IN_JSON.search(text))
    return name if held else ""


def _files(folder: Path, nested: bool = False) -> Iterator[str]:
    """Relative paths of the files and links that are there; with git, without those that .gitignore lists. A
    repository in the folder (``nested``), as a submodule, has its own .gitignore."""
    for name in _names(folder, nested):
        path = Path(name)
        # Whoever wrote the folder wrote its index, too, which may name files elsewhere.
        linked = any((folder / each).is_symlink() for each in path.parents[:-1])
        if linked or path.is_absolute() or not {"..", *IGNORED}.isdisjoint(path.parts):
            continue
        if (folder / name).is_dir() and not (folder / name).is_symlink():
            yield from (str(path / each) for each in _files(folder / name, nested=True))
        elif os.path.lexists(folder / name):
            yield name


def _names(folder: Path, nested: bool) -> list[str]:
    """The files as git lists them, with repositories in the folder as one name each; without git, all."""
    git = shutil.which("git")
    if git is None:
        walked = [Path(at, name) for at, _, names in _walk(folder) for name in names]
        if any(path.name == ".gitignore" for path in walked):
            raise FolderError("git is needed to read .gitignore, and is not installed; install it, or use --image")
        return [str(path.relative_to(folder)) for path in walked]
    listed = _git(git, folder, "-C", str(folder), nested=nested)
    if listed is None:
        with tempfile.TemporaryDirectory(prefix="gpu-sync-") as scratch:
            subprocess.run([git, "init", "--quiet", "--bare", scratch], check=True, capture_output=True)
            listed = _git(git, folder, f"--git-dir={scratch}", f"--work-tree={folder}", "-C", str(folder))
    return listed or []


def _walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in IGNORED]
        yield at, folders, files


def _git(git: str, folder: Path, *arguments: str, nested: bool = False) -> list[str] | None:
    """The tracked files and the new ones that are not ignored; ``None`` outside of a repository. ``nested``: the
    folder itself has to be one.

    Nothing that stands in the folder is run: no ``core.fsmonitor``, no configuration of a bare repository in another,
    no transport of objects that are missing (``core.sshCommand``): https://git-scm.com/docs/git-config,
    https://git-scm.com/docs/git#Documentation/git.txt-GITALLOWPROTOCOL
    """
    never = ("-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit")
    environment = {**os.environ, "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
    if nested:
        environment["GIT_CEILING_DIRECTORIES"] = str(folder.parent)
    options = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    command = [git, *never, *arguments, *options]
    try:
        done = subprocess.run(command, capture_output=True, check=False, env=environment, timeout=_LONGEST_SECONDS)
    except subprocess.TimeoutExpired as error:
        waits = f"git did not list the files of {folder} in {_LONGEST_SECONDS} s"
        raise FolderError(f"{waits}; look at its .gitignore files (one may be a pipe), or use --image") from error
    error = os.fsdecode(done.stderr).strip()
    # Git goes on without a folder that it cannot enter.
    if done.returncode == 0 and "could not open directory" not in error:
        return [name for name in os.fsdecode(done.stdout).split("\0") if name]
    if "not a git repository" in error:
        return None
    raise FolderError(
        f"git cannot list the files of {folder}: {error}; mend that, list it in .gitignore, or use --image"
    )


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    for name, value in {"uid": 0, "gid": 0, "uname": "", "gname": ""}.items():
        setattr(entry, name, value)
    return entry


def _too_large(total: int, limit: int, sizes: Mapping[str, int], how: str) -> FolderError:
    largest = sorted(sizes, key=lambda name: -sizes[name])[:_LARGEST]
    listed = ", ".join(f"{name} ({_size(sizes[name])})" for name in largest)
    return FolderError(
        f"this folder has {_size(total)}{how}, more than {_size(limit)}; its largest files: {listed}. List what the "
        "program does not need in .gitignore, put data into the bucket or /shared, or build an image (--build)"
    )


def _size(count: int) -> str:
    """``12.5 MiB``."""
    return f"{count / 1024 / 1024:.1f} MiB" if count >= 1024 * 1024 else f"{-(-count // 1024)} KiB"
