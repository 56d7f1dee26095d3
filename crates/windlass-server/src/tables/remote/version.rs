//! Which content of a URL's file a statement reads.

use std::fmt::Write as _;

use object_store::ObjectMeta;
use ring::digest;

/// Bytes of a digest that a name has.
const DIGEST: usize = 16;

/// Identifies a content by its length and what the server says of it: a strong ETag, or else a weak
/// one and the time of the last change. The time is in whole seconds: a change that keeps the
/// length, within the second of the last one, is not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteVersion {
    len: u64,
    digest: String,
}

impl RemoteVersion {
    /// `None` if the server says too little to notice a change.
    pub(crate) fn of(meta: &ObjectMeta) -> Option<Self> {
        let changed = meta.last_modified.timestamp();
        let tag = meta.e_tag.as_deref();
        let said = match tag.filter(|tag| !tag.starts_with("W/")) {
            Some(strong) => strong.to_owned(),
            // The store has 0 where the server says none.
            None if tag.is_none() && changed == 0 => return None,
            None => format!("{} {changed}", tag.unwrap_or_default()),
        };
        let digest = digest::digest(&digest::SHA256, said.as_bytes());
        let mut text = String::new();
        for byte in digest.as_ref().iter().take(DIGEST) {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Some(Self {
            len: meta.size,
            digest: text,
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The last part of a path in a plan. It is the same on all machines.
    pub(crate) fn name(&self) -> String {
        format!("@{:x}.{}", self.len, self.digest)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn meta(size: u64, e_tag: Option<&str>, changed_s: u64) -> ObjectMeta {
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(changed_s);
        ObjectMeta {
            location: "a".into(),
            last_modified: changed.into(),
            size,
            e_tag: e_tag.map(str::to_owned),
            version: None,
        }
    }

    fn name(size: u64, e_tag: Option<&str>, changed_s: u64) -> Option<String> {
        RemoteVersion::of(&meta(size, e_tag, changed_s)).map(|version| version.name())
    }

    #[test]
    fn a_strong_tag_alone_tells_versions_of_a_length_apart() {
        let one = name(9, Some("\"1\""), 5);
        assert!(one.is_some());
        assert_eq!(
            one,
            name(9, Some("\"1\""), 6),
            "servers of one name may have other times"
        );
        assert_ne!(one, name(9, Some("\"2\""), 5));
        assert_ne!(one, name(8, Some("\"1\""), 5));
    }

    #[test]
    fn without_a_strong_tag_the_time_counts_and_without_both_there_is_no_version() {
        assert_ne!(name(9, Some("W/\"1\""), 5), name(9, Some("W/\"1\""), 6));
        assert_ne!(name(9, None, 5), name(9, None, 6));
        assert_eq!(name(9, None, 5), name(9, None, 5));
        assert_eq!(name(9, None, 0), None);
    }
}
