"""The cluster's parts. Importing this package loads nothing: settings and the catalogue must stay free of Pulumi."""
