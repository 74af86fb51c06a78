"""Programs as the gate sees them, and what it has to say to each; ``tests/policies/test_corpus.py`` runs them."""
