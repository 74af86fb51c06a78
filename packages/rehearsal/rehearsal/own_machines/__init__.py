"""The rehearsal of own machines: the unchanged program on machines that are real but for their GPUs and their kernel."""
