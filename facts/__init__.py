"""The pure ground: facts and words that the program, the gate, the command and the rehearsal share."""
