//! Parts of documents that a program writes, between two marks. What people wrote around them stays as it is.

/// `old` with `generated` between the marks `begin` and `end`; `None` if it has no such place.
#[must_use]
pub fn replaced(old: &str, begin: &str, end: &str, generated: &str) -> Option<String> {
    let (before, rest) = old.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n\n{}\n\n{end}{after}", generated.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let (begin, end) = ("<!-- begin -->", "<!-- end -->");
        let old = format!("by hand\n{begin}\nold\n{end}\nby hand too\n");
        let new = replaced(&old, begin, end, "\nnew\n").unwrap();
        assert_eq!(new, format!("by hand\n{begin}\n\nnew\n\n{end}\nby hand too\n"));
        assert_eq!(
            replaced(&new, begin, end, "new"),
            Some(new.clone()),
            "writing twice changes nothing"
        );
        assert_eq!(replaced("no marks", begin, end, "new"), None);
    }
}
