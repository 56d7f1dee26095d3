//! Failures of the store, as `object_store` has them.

use object_store::Error as StoreError;

const STORE: &str = "HTTP";

pub(super) type Result<T> = std::result::Result<T, StoreError>;

pub(super) fn generic(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Generic {
        store: STORE,
        source: source.into(),
    }
}
