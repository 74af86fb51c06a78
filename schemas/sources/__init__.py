"""Where the schemas come from: the Pulumi SDKs, and what each vendor publishes about its API."""
