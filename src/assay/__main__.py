"""``python -m assay`` is the same program as ``assay``."""

from assay.interfaces.cli.main import main

if __name__ == "__main__":
    main()
