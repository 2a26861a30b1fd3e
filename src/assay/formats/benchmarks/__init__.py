"""What benchmark programs print: TestDFSIO, enhanced DFSIO, HiBench, TPCx-HS."""
