//! Tokens that are compiled for tests only, which rules about shipped code skip.

use super::Token;

/// `all` marks the whole file.
pub(crate) fn mark(tokens: &mut [Token], all: bool) {
    let mut at = 0;
    while at < tokens.len() {
        if all {
            tokens[at].test = true;
        } else if let Some(after) = cfg_test(&tokens[at..]) {
            let end = at + after + item(&tokens[at + after..]);
            tokens[at..end].iter_mut().for_each(|token| token.test = true);
            at = end;
            continue;
        }
        at += 1;
    }
}

/// Number of tokens, if one starts here.
fn cfg_test(tokens: &[Token]) -> Option<usize> {
    let starts =
        tokens.len() > 3 && tokens[0].text == "#" && tokens[1].text == "[" && tokens[2].text == "cfg";
    if !starts {
        return None;
    }
    let end = balanced(&tokens[1..]) + 1;
    let asks = (3..end)
        .any(|i| tokens[i].text == "test" && !(tokens[i - 1].text == "(" && tokens[i - 2].text == "not"));
    asks.then_some(end)
}

/// Up to its closing brace, or a semicolon before any brace.
fn item(tokens: &[Token]) -> usize {
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            "{" => return at + balanced(&tokens[at..]),
            ";" => return at + 1,
            "(" | "[" => at += balanced(&tokens[at..]),
            _ => at += 1,
        }
    }
    tokens.len()
}

pub(super) fn balanced(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::super::RustSource;

    fn tested(text: &str) -> Vec<String> {
        let source = RustSource::parse("src/a.rs", text);
        source
            .tokens
            .into_iter()
            .filter(|t| t.test && t.ident)
            .map(|t| t.text)
            .collect()
    }

    #[test]
    fn the_item_behind_cfg_test_is_test_code_and_what_follows_is_not() {
        assert_eq!(
            tested("#[cfg(test)] mod t { fn a([u8; 2]) {} } fn b() {}")
                .last()
                .unwrap(),
            "u8"
        );
        assert_eq!(tested("#[cfg(test)] use a::b; fn c() {}").last().unwrap(), "b");
        assert!(
            tested("#[cfg(all(test, not(windlass_loom)))] mod t { fn a() {} }").contains(&"a".to_owned())
        );
    }

    #[test]
    fn code_for_all_but_tests_is_not_test_code() {
        assert!(tested("#[cfg(not(test))] fn a() {} #[test_only] fn b() {}").is_empty());
    }

    #[test]
    fn a_file_of_tests_is_test_code() {
        let source = RustSource::parse("crates/a/src/b/tests.rs", "fn a() {}");
        assert!(source.tokens.iter().all(|token| token.test));
    }
}
