"""Faults of clouds and engine: calls, machines and files fail while a stack is updated, and nothing may be left."""
