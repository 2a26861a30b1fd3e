"""What a disk can do and how it is best used: calibration, expected rates, directories by bandwidth. Pure."""
