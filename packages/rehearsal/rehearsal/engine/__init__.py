"""Runs Pulumi on a stack file and reads what it reports."""
