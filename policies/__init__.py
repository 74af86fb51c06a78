"""The gate: rules about GPU clusters, and the policy pack in which the engine runs them."""
