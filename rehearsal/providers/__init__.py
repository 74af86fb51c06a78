"""Stand-ins for provider plugins: the engine talks to them as it does to the real ones."""
