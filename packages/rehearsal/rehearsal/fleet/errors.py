"""What the simulated data centre raises."""


class FleetError(Exception):
    """What the data centre cannot do, as a sentence for the user."""
