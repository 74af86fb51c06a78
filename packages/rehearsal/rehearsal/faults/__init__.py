"""Fault injection: the real program with one fault, to prove that the gate and the rehearsal notice it.

Each entry of ``cases.yaml`` is one fault; ``injections.py`` injects it. An entry
names the rule of the gate that must refuse it at preview, if one can, and the check that must fail in a rehearsal
without the gate, with the reason.
"""
