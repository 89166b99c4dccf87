"""Part `lake`: a lake of Iceberg tables, against hand-written Spark on the same tables in the same warm session."""
