"""Spark on the Hadoop that assay deploys: the second engine on the contract."""
