"""The Kubernetes API of a kubeconfig's context: who the user is, and requests. The rehearsal uses it, too."""
