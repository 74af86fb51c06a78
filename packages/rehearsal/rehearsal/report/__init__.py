"""Output of a rehearsal: progress and summary for people, a report for programs."""
