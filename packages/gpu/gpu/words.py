"""Plurals."""


def counted(count: int, noun: str) -> str:
    """``1 GPU``, ``2 GPUs``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
