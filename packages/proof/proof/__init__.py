"""The makers' laboratories: what measures the program, the gate, the tests and the rehearsal themselves."""
