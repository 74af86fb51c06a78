"""Pure rules, shared by the settings (at construction) and the policy pack (at the gate)."""
