//! PostgreSQL's protocol over DataFusion on windlass: one process that people share.
#![forbid(unsafe_code)]
