"""What a stack file means: the pools that its entries become, their cost, and everything else that follows from it."""
