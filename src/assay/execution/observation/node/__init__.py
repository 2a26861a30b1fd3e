"""Scripts for nodes: standard library only, Python 3.6 syntax, each self-contained.

They are sent as text (``python3 -u -c SOURCE JSON``) and print JSON on stdout. Nothing is installed on a node.
"""
