"""The subcommands: options, and calls of what does the work. Each imports that when it runs."""
