"""Programs as the gate sees them: what must be blocked, by which rule, and what must pass.

One module per cloud with ``BLOCKED`` and ``ALLOWED``; ``tests/policies/test_corpus.py`` runs all of them.
"""
