"""Mutants: one wrong input of one resource each, to measure how many of them the gate and a rehearsal notice.

The unchanged program runs in a project whose ``__main__.py`` changes what it registers, on the way to the engine
(``program.py``). So the provider's check, the gate and the update all get the wrong input.
"""
