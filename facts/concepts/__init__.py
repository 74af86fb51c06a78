"""The words of program, gate and rehearsal and what they mean; pure, imports nothing of ours."""
