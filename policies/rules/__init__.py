"""The rules of the gate: one file per subject, and the ``table`` of all of them."""
