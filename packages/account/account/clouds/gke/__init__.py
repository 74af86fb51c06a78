"""Google Cloud: asked by HTTP with the login of its own SDK, google-auth (``make setup-account``)."""
