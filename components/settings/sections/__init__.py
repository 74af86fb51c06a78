"""The keys of stack files by section, each with its type, default and description."""
