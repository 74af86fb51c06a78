"""The rehearsal of own machines: the unchanged program on machines that are real but for GPUs and kernel."""
