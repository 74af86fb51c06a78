"""Azure: asked with its own SDK, azure-identity and azure-mgmt (``make setup-account``)."""
