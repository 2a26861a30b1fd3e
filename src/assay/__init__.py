"""assay measures which storage, network and configuration a Hadoop or Spark cluster should have, and at what cost."""

__version__ = "0.3.0"
