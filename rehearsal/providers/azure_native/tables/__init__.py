"""What Microsoft's current models no longer say about requests, or say about a later API version."""
