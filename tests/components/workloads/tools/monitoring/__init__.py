"""Rules, alerts and dashboards, tried by Prometheus' own promtool where it is installed."""
