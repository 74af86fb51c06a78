"""What a real cluster and a real account answer, beside what the rehearsal shows. Needs no rehearsal."""
