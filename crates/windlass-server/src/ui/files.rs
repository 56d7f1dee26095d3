//! The page's own files, which anyone may read: they have no data.

use hyper::StatusCode;

use super::answer::{self, Answer};

const FILES: &[(&str, &str, &str)] = &[
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    (
        "/page.css",
        "text/css; charset=utf-8",
        include_str!("page/page.css"),
    ),
    (
        "/page.js",
        "text/javascript; charset=utf-8",
        include_str!("page/page.js"),
    ),
    (
        "/lanes.js",
        "text/javascript; charset=utf-8",
        include_str!("page/lanes.js"),
    ),
    (
        "/sql.js",
        "text/javascript; charset=utf-8",
        include_str!("page/sql.js"),
    ),
    (
        "/parts.js",
        "text/javascript; charset=utf-8",
        include_str!("page/parts.js"),
    ),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];

pub(super) fn find(path: &str) -> Option<Answer> {
    let (_, kind, text) = FILES.iter().find(|(name, ..)| *name == path)?;
    Some(answer::of(StatusCode::OK, kind, *text))
}
