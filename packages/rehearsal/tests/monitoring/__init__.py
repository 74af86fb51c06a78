"""A real Prometheus on a rehearsed cluster: the stack's own rules and dashboards, on what its pods and nodes do."""
