"""Fault injection: the real program with one fault, to prove that the gate and the rehearsal notice it.

Each case in ``cases`` injects one fault. It names the rule of the gate that must refuse it at preview, if one can, and
the check that must fail in a rehearsal without the gate, with the reason.
"""
