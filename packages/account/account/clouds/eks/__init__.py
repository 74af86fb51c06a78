"""AWS: asked with its own SDK, boto3 (``make setup-account``)."""
