"""The component package for other languages of Pulumi: docs/use-from-other-languages.md."""
