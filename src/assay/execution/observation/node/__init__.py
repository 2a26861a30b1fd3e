"""Scripts that run on the nodes: standard library only, Python 3.6 syntax, each complete in itself.

They are sent as text (``python3 -u -c SOURCE JSON``) and answer in JSON on stdout; nothing is installed on a node.
"""
