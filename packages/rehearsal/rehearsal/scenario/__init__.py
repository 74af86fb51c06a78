"""What a rehearsal submits, and what it observes meanwhile."""
