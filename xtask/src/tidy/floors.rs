//! Floors of modules: in a product crate no module imports, directly or through others, a module
//! that imports it.
//!
//! A file is a module; an arrow is a path to another module of the crate, outside tests. A
//! re-export is an arrow too: a module that names `crate::X`, which the root re-exports, is in a
//! circle.
//!
//! ```text
//!   root ──► executor ──► worker ──► board ──► job          below all that import them: error, metrics
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::rust_source::RustSource;
use super::tree::Tree;
use super::violation::Violation;

const PRODUCT: &[&str] = &[
    "columnar",
    "executor-core",
    "executor-threaded",
    "http-store",
    "injector",
    "pipeline-exec",
    "pools",
    "query",
    "windlass",
    "windlass-ballista",
    "windlass-datafusion",
    "windlass-server",
];

/// Crates with circles, and why. A crate without circles must not be listed.
const NOT_YET: &[(&str, &str)] = &[];

/// Empty for the root.
type Module = Vec<String>;

#[derive(Debug, Default)]
struct Floors<'a> {
    files: BTreeMap<Module, &'a str>,
    arrows: BTreeMap<Module, BTreeMap<Module, usize>>,
}

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    check_but(tree, NOT_YET)
}

fn check_but(tree: &Tree, not_yet: &[(&str, &str)]) -> Vec<Violation> {
    let mut found = Vec::new();
    for name in PRODUCT {
        let circles = Floors::of(tree, name).circles();
        let excused = not_yet.iter().any(|(excused, _)| excused == name);
        if excused && circles.is_empty() {
            let what = format!("`{name}` has no circles any more, strike it from `NOT_YET`");
            found.push(Violation::new("xtask/src/tidy/floors.rs", 1, what));
        } else if !excused {
            found.extend(circles);
        }
    }
    found
}

impl<'a> Floors<'a> {
    fn of(tree: &'a Tree, name: &str) -> Self {
        let folder = format!("crates/{name}/src/");
        let files = tree.files().filter(|file| file.path.starts_with(&folder));
        let files: Vec<_> = files
            .filter_map(|file| Some((file, file.rust.as_ref()?)))
            .collect();
        let has_library = files
            .iter()
            .any(|(file, _)| file.path[folder.len()..] == *"lib.rs");
        let mut floors = Floors::default();
        let mut sources = Vec::new();
        for (file, source) in files {
            if let Some(module) = module(&file.path[folder.len()..], has_library) {
                floors.files.insert(module.clone(), &file.path);
                sources.push((module, source));
            }
        }
        for (module, source) in sources {
            floors.read(&module, source);
        }
        floors
    }

    fn read(&mut self, module: &Module, source: &RustSource) {
        let inline = inline_modules(source);
        let mut arrows: BTreeMap<Module, usize> = BTreeMap::new();
        for named in source.paths().iter().filter(|named| !named.test) {
            // A word alone is no path: `mod child;`, a variable.
            if !named.import && !named.path.contains("::") {
                continue;
            }
            // `pub(in crate::a)` shows something to a module; a macro's user writes `$crate`.
            let before = source.tokens[..named.token].iter().rev().take(2);
            let before: Vec<&str> = before.map(|token| token.text.as_str()).collect();
            if before.first() == Some(&"$") || before == ["in", "("] {
                continue;
            }
            let within = inline
                .iter()
                .filter(|inline| inline.tokens.contains(&named.token));
            let mut here = module.clone();
            here.extend(within.map(|inline| inline.name.clone()));
            if let Some(target) = self.target(&here, &named.path)
                && target != *module
            {
                arrows.entry(target).or_insert(named.line);
            }
        }
        self.arrows.insert(module.clone(), arrows);
    }

    /// `None` if it is another crate's.
    fn target(&self, here: &Module, path: &str) -> Option<Module> {
        let mut segments = path.split("::").filter(|segment| *segment != "*").peekable();
        let mut target: Module = match *segments.peek()? {
            "crate" => {
                segments.next();
                Module::new()
            }
            "self" | "super" => here.clone(),
            first => {
                let mut child = here.clone();
                child.push(first.to_owned());
                self.files.contains_key(&child).then(|| here.clone())?
            }
        };
        for segment in segments {
            match segment {
                "self" => {}
                "super" => {
                    target.pop();
                }
                name => target.push(name.to_owned()),
            }
        }
        while !self.files.contains_key(&target) {
            target.pop()?;
        }
        Some(target)
    }

    /// The shortest circle of each set of modules that reach each other.
    fn circles(&self) -> Vec<Violation> {
        let mut done: BTreeSet<&Module> = BTreeSet::new();
        let mut found = Vec::new();
        for start in self.files.keys() {
            if done.contains(start) {
                continue;
            }
            let reached = |from| self.files.keys().filter(move |to| self.way(from, to).is_some());
            let knot: Vec<&Module> = reached(start)
                .filter(|other| self.way(other, start).is_some())
                .collect();
            done.extend(&knot);
            let shortest = knot.iter().filter_map(|module| self.way(module, module));
            if let Some(circle) = shortest.min_by_key(Vec::len) {
                found.push(self.violation(&circle, knot.len()));
            }
        }
        found
    }

    /// The shortest way of at least one arrow, with both ends.
    fn way<'f>(&'f self, from: &'f Module, to: &Module) -> Option<Vec<&'f Module>> {
        let mut ways = VecDeque::from([vec![from]]);
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop_front() {
            let last = way[way.len() - 1];
            for next in self.arrows.get(last)?.keys() {
                if next == to || seen.insert(next) {
                    let longer = [way.as_slice(), &[next]].concat();
                    if next == to {
                        return Some(longer);
                    }
                    ways.push_back(longer);
                }
            }
        }
        None
    }

    fn violation(&self, circle: &[&Module], knot: usize) -> Violation {
        let arrows = circle.windows(2).map(|pair| {
            let line = self.arrows[pair[0]][pair[1]];
            format!("{}:{line} names {}", self.files[pair[0]], self.files[pair[1]])
        });
        let arrows: Vec<String> = arrows.collect();
        let what = format!(
            "a circle in a knot of {knot} modules: {}; move what both need below both",
            arrows.join(", ")
        );
        Violation::new(self.files[circle[0]], self.arrows[circle[0]][circle[1]], what)
    }
}

/// The module of a file. A program's file counts only without a library; `path` is relative to
/// `src/`.
fn module(path: &str, has_library: bool) -> Option<Module> {
    let path = path.strip_suffix(".rs")?;
    let root = if has_library { "lib" } else { "main" };
    if path == root {
        return Some(Module::new());
    }
    let another_program = path == "main" || path.starts_with("bin/");
    (!another_program).then(|| path.split('/').map(str::to_owned).collect())
}

struct Inline {
    name: String,
    tokens: std::ops::Range<usize>,
}

fn inline_modules(source: &RustSource) -> Vec<Inline> {
    let tokens = &source.tokens;
    let begins =
        |at: usize| tokens[at].text == "mod" && tokens.get(at + 2).is_some_and(|token| token.text == "{");
    let inline = (0..tokens.len()).filter(|&at| begins(at)).map(|at| Inline {
        name: tokens[at + 1].text.clone(),
        tokens: at + 2..at + 2 + source.balanced(at + 2),
    });
    inline.collect()
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;
    use crate::workspace::Workspace;

    fn found(files: &[(&str, &str)]) -> Vec<Violation> {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (format!("crates/pools/src/{path}"), *text))
            .collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        check_but(&Tree::planted(&files), &[])
    }

    #[test]
    fn every_product_crate_exists() {
        let workspace = Workspace::load().unwrap();
        for name in PRODUCT {
            assert!(
                workspace.packages.iter().any(|package| package.name == *name),
                "{name}"
            );
        }
    }

    #[test]
    fn floors_pass() {
        let fine = found(&[
            (
                "lib.rs",
                "mod a; mod b; mod c; pub use a::A; pub use b::{B, deep::Deep};",
            ),
            (
                "a.rs",
                "use crate::b::B; use crate::c; use std::a::X; fn f() { c::g() }",
            ),
            (
                "b.rs",
                "mod deep; use deep::Deep; pub struct B(Deep); pub(in crate::a) fn f(self) {}",
            ),
            ("b/deep.rs", "use super::super::c::g; pub(super) struct Deep;"),
            (
                "c.rs",
                "pub fn g() {} #[cfg(test)] mod tests { use crate::{A, a::A}; use super::*; }",
            ),
            ("main.rs", "use pools::A;"),
        ]);
        assert_found(&fine, &[]);
    }

    #[test]
    fn the_shortest_circle_of_a_knot_is_told_file_by_file() {
        let circles = found(&[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "\nuse crate::{a::A, d::D};"),
            ("d.rs", "fn f() -> super::c::C {}"),
        ]);
        let circle = "c.rs:2: a circle in a knot of 4 modules: crates/pools/src/c.rs:2 names crates/pools/src/d.rs, \
            crates/pools/src/d.rs:1 names crates/pools/src/c.rs;";
        assert_found(&circles, &[circle]);
    }

    #[test]
    fn two_knots_are_two_violations() {
        let circles = found(&[
            ("lib.rs", ""),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::A;"),
            ("c.rs", "use crate::d::D; use crate::a::A;"),
            ("d.rs", "use crate::c::C;"),
        ]);
        assert_found(&circles, &["a.rs:1", "c.rs:1"]);
    }

    #[test]
    fn a_name_that_the_root_re_exports_is_imported_from_the_root() {
        let circles = found(&[
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "use crate::B;"),
            ("b.rs", ""),
        ]);
        assert_found(&circles, &["a circle in a knot of 2 modules"]);
    }

    #[test]
    fn a_parent_that_uses_a_child_that_uses_the_parent_is_a_circle() {
        for parent in [
            "use child::C; pub struct P;",
            "pub struct P; fn f() { child::g() }",
        ] {
            let circles = found(&[
                ("lib.rs", "pub mod parent;"),
                ("parent.rs", parent),
                ("parent/child.rs", "use super::P;"),
            ]);
            assert_found(&circles, &["parent.rs:1"]);
        }
        let fine = found(&[
            ("lib.rs", "pub mod parent;"),
            ("parent.rs", "mod child; pub struct P;"),
            ("parent/child.rs", "use super::P;"),
        ]);
        assert_found(&fine, &[]);
    }

    #[test]
    fn a_module_inside_a_file_names_things_from_one_step_further_in() {
        let circles = found(&[
            (
                "lib.rs",
                "pub mod a; pub mod b; mod inside { mod deeper { pub use super::super::a::A; } }",
            ),
            ("a.rs", "use crate::X;"),
            (
                "b.rs",
                "mod inside { use super::c::Own; } mod c { pub struct Own; }",
            ),
        ]);
        assert_found(&circles, &["a circle in a knot of 2 modules"]);
    }

    #[test]
    fn a_crate_that_is_excused_for_nothing_is_struck_from_the_list() {
        let tree = Tree::planted(&[
            ("crates/pools/src/a.rs", "use crate::b::B;"),
            ("crates/pools/src/b.rs", "use crate::a::A;"),
        ]);
        let excused = check_but(&tree, &[("pools", "why"), ("query", "why")]);
        assert_found(&excused, &["`query` has no circles any more"]);
    }
}
