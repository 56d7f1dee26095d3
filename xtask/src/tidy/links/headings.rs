//! The anchors of a Markdown file, made from its headings as GitHub does.

use std::collections::HashMap;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Repetitions get a number.
pub(crate) fn slugs(text: &str) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut slugs = Vec::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(piece) | Event::Code(piece) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&piece);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap_or_default());
                let times = seen.entry(slug.clone()).or_default();
                slugs.push(if *times == 0 {
                    slug
                } else {
                    format!("{slug}-{times}")
                });
                *times += 1;
            }
            _ => {}
        }
    }
    slugs
}

fn slug(heading: &str) -> String {
    let lower = heading.trim().to_lowercase();
    let kept = lower
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_become_slugs_as_on_github() {
        let text = "# The `Sleep` protocol\n\n## Why? – Because.\n\n```\n# not a heading\n```\nSetext\n---\n\n## Why? – Because.";
        assert_eq!(
            slugs(text),
            ["the-sleep-protocol", "why--because", "setext", "why--because-1"]
        );
    }
}
