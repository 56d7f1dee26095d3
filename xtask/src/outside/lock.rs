//! A lock file as a set of package names and versions.

use std::collections::BTreeSet;

use anyhow::ensure;

#[derive(Debug)]
pub(crate) struct Lock {
    packages: BTreeSet<(String, String)>,
}

impl Lock {
    pub(crate) fn parse(text: &str) -> Lock {
        let lines: Vec<&str> = text.lines().collect();
        let entries = lines.windows(2).filter_map(|pair| {
            let name = pair[0].strip_prefix("name = ")?.trim_matches('"');
            let version = pair[1].strip_prefix("version = ")?.trim_matches('"');
            Some((name.to_owned(), version.to_owned()))
        });
        Lock {
            packages: entries.collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.packages.len()
    }

    /// The outside program itself may be absent from `allowed`.
    pub(crate) fn check_resolved_by(&self, allowed: &Lock) -> anyhow::Result<()> {
        let new = self
            .packages
            .iter()
            .find(|entry| !entry.0.starts_with("outside-") && !allowed.packages.contains(entry));
        ensure!(
            new.is_none(),
            "{new:?} was resolved anew, the workspace's lock file has no such version"
        );
        Ok(())
    }

    /// A family is a name, alone or with a hyphen and more.
    pub(crate) fn check_without(&self, families: &[&str]) -> anyhow::Result<()> {
        let is_heavy = |name: &str| {
            families
                .iter()
                .any(|family| name == *family || name.starts_with(&format!("{family}-")))
        };
        let heavy = self
            .packages
            .iter()
            .map(|(name, _)| name)
            .find(|name| is_heavy(name));
        ensure!(
            heavy.is_none(),
            "{heavy:?} is in the tree of a library that is not to know {families:?}"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(entries: &[(&str, &str)]) -> Lock {
        let text = |(name, version): &(&str, &str)| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n")
        };
        Lock::parse(&entries.iter().map(text).collect::<String>())
    }

    #[test]
    fn what_the_workspace_did_not_lock_is_found() {
        let workspace = lock(&[("crossbeam", "0.8.4"), ("executor-core", "0.1.0")]);
        let same = lock(&[("outside-executor-core", "0.0.0"), ("crossbeam", "0.8.4")]);
        assert_eq!(same.len(), 2);
        assert!(same.check_resolved_by(&workspace).is_ok());
        let error = lock(&[("crossbeam", "0.8.5")])
            .check_resolved_by(&workspace)
            .unwrap_err();
        assert!(error.to_string().contains("0.8.5"), "{error}");
    }

    #[test]
    fn arrow_and_tokio_are_found() {
        let families = ["arrow", "parquet", "tokio"];
        for heavy in ["arrow", "arrow-array", "parquet", "tokio", "tokio-util"] {
            let lock = lock(&[("crossbeam", "0.8.4"), (heavy, "1.0.0")]);
            assert!(lock.check_without(&families).is_err(), "{heavy}");
        }
        assert!(lock(&[("narrow", "1.0.0")]).check_without(&families).is_ok());
        let tokio = lock(&[("tokio", "1.0.0")]);
        assert!(tokio.check_without(&["arrow"]).is_ok(), "nobody asked for it");
    }
}
