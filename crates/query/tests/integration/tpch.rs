//! The published answers of TPC-H, from generated rows, from Parquet and from CSV, with any number of threads.
