"""One rehearsal or preview, from its start to its end."""
