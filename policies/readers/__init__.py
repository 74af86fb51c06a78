"""Reads a program's resources for the rules; ``registry`` says which module reads what."""

from policies.readers.reading import linked, read, read_stack, spellings, stack_of, waits

__all__ = ["linked", "read", "read_stack", "spellings", "stack_of", "waits"]
