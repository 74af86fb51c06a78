"""Sabotage: the real program, broken on purpose from outside, to prove that the gate and the rehearsal notice.

Each module in ``cases`` breaks one thing. It says which rule of the gate must refuse it at preview, if any can, and
which check of a rehearsal without the gate must fail, and why.
"""
