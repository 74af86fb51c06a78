"""``python -m components.settings FILE``: where a stack is, as lines that a workflow can take as outputs."""

from __future__ import annotations

import sys

from components.settings.fields.problems import SettingsError
from components.settings.read import from_stack_file


def main(arguments: list[str]) -> int:
    """Print ``cloud=…`` and ``region=…`` of the stack file; 1 if it is not valid."""
    (file,) = arguments
    try:
        settings = from_stack_file(file)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"cloud={settings.cloud}\nregion={settings.region}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
