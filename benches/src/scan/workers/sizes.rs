//! Names and sizes of a real tree, without its bytes.

use std::path::Path;

use anyhow::Result;
use scan::files::{Kind, Names};
use scan::ignore::WalkBuilder;

/// A tree. What a search leaves out is not in it.
#[derive(Debug)]
pub(super) struct Sizes {
    nodes: Vec<Node>,
    bytes: u64,
}

#[derive(Debug)]
pub(super) enum Node {
    File {
        bytes: u64,
    },
    /// Its children by number: that is their name.
    Dir {
        children: Vec<usize>,
    },
}

impl Sizes {
    /// Its root's name.
    pub(super) const ROOT: &str = "0";

    pub(super) fn of(path: &Path) -> Result<Self> {
        let mut sizes = Self {
            nodes: Vec::new(),
            bytes: 0,
        };
        // The folders above the entry in hand, the root first.
        let mut above: Vec<usize> = Vec::new();
        for entry in WalkBuilder::new(path).sort_by_file_name(Ord::cmp).build() {
            let entry = entry?;
            let kind = entry.file_type();
            let node = if kind.is_some_and(|kind| kind.is_dir()) {
                Node::Dir { children: Vec::new() }
            } else if kind.is_some_and(|kind| kind.is_file()) {
                let bytes = entry.metadata()?.len();
                sizes.bytes += bytes;
                Node::File { bytes }
            } else {
                continue;
            };
            let number = sizes.nodes.len();
            sizes.nodes.push(node);
            above.truncate(entry.depth());
            if let Some(&parent) = above.last()
                && let Node::Dir { children } = &mut sizes.nodes[parent]
            {
                children.push(number);
            }
            above.push(number);
        }
        Ok(sizes)
    }

    pub(super) fn objects(&self) -> u64 {
        self.nodes.len() as u64
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of the node at a path, which its last part is.
    pub(super) fn find(&self, path: &Path) -> Option<usize> {
        let number = path.file_name()?.to_str()?.parse().ok()?;
        (number < self.nodes.len()).then_some(number)
    }

    pub(super) fn kind(&self, node: usize) -> Kind {
        match self.nodes[node] {
            Node::File { .. } => Kind::File,
            Node::Dir { .. } => Kind::Dir,
        }
    }

    /// 0 for a folder.
    pub(super) fn len(&self, node: usize) -> u64 {
        match self.nodes[node] {
            Node::File { bytes } => bytes,
            Node::Dir { .. } => 0,
        }
    }

    /// Adds up to `most` names of a folder from its `from`th on. Returns where the rest begins.
    pub(super) fn names(&self, node: usize, from: usize, most: usize, names: &mut Names) -> Option<usize> {
        let Node::Dir { children } = &self.nodes[node] else {
            return None;
        };
        let to = children.len().min(from + most);
        for &child in &children[from..to] {
            names.push(child.to_string().as_bytes(), self.kind(child));
        }
        (to < children.len()).then_some(to)
    }
}
