"""``python -m rehearsal``: see ``rehearsal.cli``."""

from rehearsal.cli import main

if __name__ == "__main__":
    main()
