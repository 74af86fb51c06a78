"""Programs as the gate sees them: what a rule must find (a mandatory one blocks it), and what must pass.

One module per cloud with ``BLOCKED`` and ``ALLOWED``; ``tests/policies/test_corpus.py`` runs all of them.
"""
