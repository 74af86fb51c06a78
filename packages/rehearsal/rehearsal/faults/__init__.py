"""Fault injection: the real program with one fault, to prove that the gate and the rehearsal notice it.

Each row of ``cases.csv`` is one fault; ``injections.py`` has the functions that inject them. A row
names the rule of the gate that must refuse it at preview, if one can, and the check that must fail in a rehearsal
without the gate, with the reason.
"""
