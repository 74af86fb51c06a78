"""The ground floor: types of single keys, and what is wrong with one, with its remedy."""
