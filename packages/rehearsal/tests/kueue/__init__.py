"""Queues of teams with a real Kueue."""
