"""``python -m gpu``, and what the console script ``gpu`` calls."""

from gpu.cli import main

if __name__ == "__main__":
    main()
