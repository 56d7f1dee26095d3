//! What the name of a file says of its content.

use std::path::Path;

/// In lower case.
pub(super) fn extension(path: &Path) -> String {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.unwrap_or("").to_ascii_lowercase()
}

pub(super) fn is_parquet_name(path: &Path) -> bool {
    matches!(extension(path).as_str(), "parquet" | "parq" | "pq")
}
