"""The rehearsal: the unchanged program against a real control plane and simulated machines, without an account."""
