//! Tests of scans, one file a theme.
