"""The command's subcommands; what they find out is in the modules above, here it is asked for and shown."""
