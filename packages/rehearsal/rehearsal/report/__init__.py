"""What a person and a program read of a rehearsal: progress, summary, report."""
