"""A stack file of own machines: its keys (``sections``) and the settings that they become (``resolve``)."""
