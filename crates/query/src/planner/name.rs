//! Names as SQL compares them.

use sqlparser::ast::Ident;

/// Case matters only if the name is quoted.
pub(super) fn names_match(written: &Ident, name: &str) -> bool {
    match written.quote_style {
        Some(_) => written.value == name,
        None => written.value.to_lowercase() == name.to_lowercase(),
    }
}
