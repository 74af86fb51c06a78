"""The background process of a rehearsal (simulated cloud, control plane, machines) and its client."""
