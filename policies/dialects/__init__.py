"""Readers of spellings that no SDK of our three clouds uses: templates, controllers and other tools.

``policies/readers/registry.py`` names each module for its packages. No module outside this folder imports one of them.
"""
