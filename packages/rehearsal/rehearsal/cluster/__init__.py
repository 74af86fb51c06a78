"""The rehearsed cluster: its control plane, what it needs to start, and the one client of its API."""
