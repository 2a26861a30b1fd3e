"""Import the output of benchmark programs: TestDFSIO, enhanced DFSIO, HiBench, TPCx-HS."""
