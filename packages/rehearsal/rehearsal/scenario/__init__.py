"""The workloads that a rehearsal submits, and the timeline of observations."""
