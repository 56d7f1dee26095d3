//! A planted bug as a patch, `mutants/CRATE/what_it_breaks.patch`: header lines, an empty line, a
//! unified diff.
//!
//! ```text
//! breaks: A delivered batch does not wake the consumer.        one sentence
//! layer: loom                                                   unit, sim or loom: who must notice
//! by: delivery_against_a_consumer_that_falls_asleep             the test, oracle or model; of several, by commas, one must
//! canary: yes                                                   CI plants it, for the layer; may be absent
//! only: yes                                                     no other oracle notices; may be absent
//! ```
//!
//! `by: twice determinism` is the simulator's oracle of that name, in runs that are made twice.

pub(crate) mod diff;

use anyhow::{Context as _, bail, ensure};

use self::diff::FileDiff;
use super::layer::Layer;

pub(crate) const FOLDER: &str = "mutants";

#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) krate: String,
    pub(crate) name: String,
    pub(crate) layer: Layer,
    /// Tests, oracles or models, one of which must notice.
    pub(crate) by: Vec<String>,
    pub(crate) twice: bool,
    pub(crate) canary: bool,
    pub(crate) only: bool,
    pub(crate) files: Vec<FileDiff>,
}

impl Patch {
    pub(crate) fn parse(path: &str, text: &str) -> anyhow::Result<Patch> {
        let place = path
            .strip_prefix("mutants/")
            .and_then(|path| path.strip_suffix(".patch"));
        let place = place.and_then(|place| place.split_once('/'));
        let Some((krate, name)) = place.filter(|(_, name)| is_name(name)) else {
            bail!("a patch is `{FOLDER}/CRATE/what_it_breaks.patch`");
        };
        let (header, diff) = text
            .split_once("\n\n")
            .context("an empty line parts the header from the diff")?;
        let mut fields = Vec::new();
        for line in header.lines() {
            let (key, value) = line.split_once(": ").context("a header line is `key: value`")?;
            ensure!(
                ["breaks", "layer", "by", "canary", "only"].contains(&key),
                "a header has no `{key}`"
            );
            fields.push((key, value.trim()));
        }
        let field = |key: &str| {
            fields
                .iter()
                .find(|(found, _)| *found == key)
                .map(|(_, value)| *value)
        };
        let breaks = field("breaks").context("the header lacks `breaks`, a sentence")?;
        ensure!(breaks.ends_with('.'), "`breaks` is a sentence");
        let layer = field("layer").context("the header lacks `layer`")?;
        let by = field("by").context("the header lacks `by`: which test, oracle or model")?;
        let (twice, by) = by.strip_prefix("twice ").map_or((false, by), |by| (true, by));
        let files = diff::parse(diff)?;
        for file in &files {
            ensure!(
                file.path.starts_with(&format!("crates/{krate}/src/")),
                "`{}` is not code of `{krate}`",
                file.path
            );
        }
        Ok(Patch {
            krate: krate.to_owned(),
            name: name.to_owned(),
            layer: Layer::of_name(layer).with_context(|| format!("there is no layer `{layer}`"))?,
            by: by.split(',').map(|name| name.trim().to_owned()).collect(),
            twice,
            canary: field("canary") == Some("yes"),
            only: field("only") == Some("yes"),
            files,
        })
    }

    pub(crate) fn title(&self) -> String {
        format!("{}/{}", self.krate, self.name)
    }
}

fn is_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.contains('_') && name.chars().all(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "mutants/pools/finish_wakes_nothing.patch";
    const DIFF: &str = "--- a/crates/pools/src/a.rs\n+++ b/crates/pools/src/a.rs\n@@ -1 +1 @@\n-a\n+b\n";

    fn parse(path: &str, header: &str) -> anyhow::Result<Patch> {
        Patch::parse(path, &format!("{header}\n\n{DIFF}"))
    }

    #[test]
    fn a_header_says_what_breaks_and_who_must_notice() {
        let patch = parse(
            PATH,
            "breaks: A wake.\nlayer: loom\nby: model_a, model_b\ncanary: yes",
        )
        .unwrap();
        assert_eq!(patch.title(), "pools/finish_wakes_nothing");
        assert_eq!(
            (patch.layer, patch.canary, patch.twice),
            (Layer::Loom, true, false)
        );
        assert_eq!(patch.by, ["model_a", "model_b"]);
        let patch = parse(
            PATH,
            "breaks: A wake.\nlayer: sim\nby: twice determinism\nonly: yes",
        )
        .unwrap();
        assert_eq!((patch.by, patch.twice), (vec!["determinism".to_owned()], true));
        assert!(patch.only && !patch.canary);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (path, header, about) in [
            (PATH, "layer: loom\nby: a", "`breaks`"),
            (PATH, "breaks: A wake\nlayer: loom\nby: a", "sentence"),
            (PATH, "breaks: A wake.\nby: a", "`layer`"),
            (PATH, "breaks: A wake.\nlayer: kani\nby: a", "`kani`"),
            (PATH, "breaks: A wake.\nlayer: sim", "`by`"),
            (PATH, "breaks: A wake.\nlayer: sim\nby: a\nnumber: 7", "`number`"),
            (
                "mutants/pools/M7.patch",
                "breaks: A wake.\nlayer: sim\nby: a",
                "what_it_breaks",
            ),
            (
                "mutants/query/a_b.patch",
                "breaks: A wake.\nlayer: sim\nby: a",
                "not code of `query`",
            ),
        ] {
            let error = parse(path, header).unwrap_err().to_string();
            assert!(error.contains(about), "{error}");
        }
    }
}
