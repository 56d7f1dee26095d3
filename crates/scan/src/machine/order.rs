//! The order of outputs by path: a tree of directories that are not yet done.
//!
//! Children are numbered as they are listed. The tree has a place up to which all is out, the head;
//! what ends before its turn is kept at its number until the head gets there.
//!
//! ```text
//!   root  0 ✓  1 ─┐   2 kept   3 gone   4 …          ✓ out   gone: nothing to put out
//!                 └► 0 ✓  1 ← head  2 kept  3 kept
//! ```

use std::collections::BTreeMap;
use std::io;

use super::kept::Kept;

/// A directory in the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeId(u32);

/// A child of a directory in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) node: NodeId,
    pub(crate) index: usize,
}

#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    free: Vec<NodeId>,
    /// The directory that the head is in.
    at: NodeId,
}

#[derive(Debug, Default)]
struct Node {
    parent: Option<Position>,
    /// The first child that is not out.
    next: usize,
    /// Number of children, once it is known.
    total: Option<usize>,
    /// A bit for each child that is done and has nothing to put out.
    gone: Vec<u64>,
    kept: BTreeMap<usize, Kept>,
    dirs: BTreeMap<usize, NodeId>,
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self {
            nodes: vec![Node::default()],
            free: Vec::new(),
            at: NodeId::default(),
        }
    }

    /// The root, whose children are what the caller named.
    pub(crate) fn root() -> NodeId {
        NodeId::default()
    }

    /// The child at `position` is a directory of `total` children.
    pub(crate) fn open(&mut self, position: Position, total: usize) -> NodeId {
        let node = Node {
            parent: Some(position),
            total: Some(total),
            ..Node::default()
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.nodes[id.0 as usize] = node;
                id
            }
            None => {
                let id = u32::try_from(self.nodes.len()).expect("fewer directories than 2^32 are under way");
                self.nodes.push(node);
                NodeId(id)
            }
        };
        self.node(position.node).dirs.insert(position.index, id);
        id
    }

    /// The number of children is known.
    pub(crate) fn close(&mut self, node: NodeId, total: usize) {
        self.node(node).total = Some(total);
    }

    /// Nothing is to be put out for a child.
    pub(crate) fn gone(&mut self, position: Position) {
        let gone = &mut self.node(position.node).gone;
        let word = position.index / 64;
        if gone.len() <= word {
            gone.resize(word + 1, 0);
        }
        gone[word] |= 1 << (position.index % 64);
    }

    pub(crate) fn keep(&mut self, position: Position, kept: Kept) {
        self.node(position.node).kept.insert(position.index, kept);
    }

    pub(crate) fn is_head(&self, position: Position) -> bool {
        position.node == self.at && self.nodes[self.at.0 as usize].next == position.index
    }

    /// Moves the head on as far as it goes, and hands what was kept there to `put`.
    pub(crate) fn advance(&mut self, mut put: impl FnMut(Kept) -> io::Result<()>) -> io::Result<()> {
        loop {
            let at = self.at;
            let node = self.node(at);
            let next = node.next;
            if node.total == Some(next) {
                let Some(parent) = node.parent else {
                    return Ok(());
                };
                *node = Node::default();
                self.free.push(at);
                self.at = parent.node;
                let above = self.node(parent.node);
                above.dirs.remove(&parent.index);
                above.next += 1;
            } else if let Some(child) = node.dirs.get(&next) {
                self.at = *child;
            } else if let Some(kept) = node.kept.remove(&next) {
                node.next += 1;
                put(kept)?;
            } else if node.is_gone(next) {
                node.next += 1;
            } else {
                return Ok(());
            }
        }
    }

    /// After a scan that was cancelled: takes what is missing for gone.
    pub(crate) fn finish(&mut self, mut put: impl FnMut(Kept) -> io::Result<()>) -> io::Result<()> {
        loop {
            self.advance(&mut put)?;
            let node = self.node(self.at);
            if node.parent.is_none() && node.total == Some(node.next) {
                return Ok(());
            }
            let kept = node.kept.keys().next();
            match kept.into_iter().chain(node.dirs.keys().next()).min() {
                Some(&next) => node.next = next,
                None => node.total = Some(node.next),
            }
        }
    }

    fn node(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }
}

impl Node {
    fn is_gone(&self, index: usize) -> bool {
        let word = self.gone.get(index / 64);
        word.is_some_and(|word| word >> (index % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Kept {
        Kept::of(text.as_bytes())
    }

    fn advanced(tree: &mut Tree) -> String {
        let mut out = String::new();
        tree.advance(|kept| {
            out.push_str(&kept.text());
            Ok(())
        })
        .expect("nothing fails here");
        out
    }

    #[test]
    fn what_is_ready_early_waits_for_its_turn() {
        let mut tree = Tree::new();
        let at = |node, index| Position { node, index };
        let root = Tree::root();
        tree.close(root, 3);
        let dir = tree.open(at(root, 1), 2);
        tree.keep(at(root, 2), kept("last"));
        tree.keep(at(dir, 1), kept("second "));
        assert_eq!(advanced(&mut tree), "");
        assert!(tree.is_head(at(root, 0)) && !tree.is_head(at(dir, 0)));
        tree.gone(at(root, 0));
        assert_eq!(advanced(&mut tree), "");
        assert!(tree.is_head(at(dir, 0)));
        tree.keep(at(dir, 0), kept("first "));
        assert_eq!(advanced(&mut tree), "first second last");
    }

    #[test]
    fn a_cancelled_scan_puts_out_what_there_is() {
        let mut tree = Tree::new();
        let at = |node, index| Position { node, index };
        let dir = tree.open(at(Tree::root(), 5), 9);
        tree.keep(at(dir, 7), kept("b"));
        tree.keep(at(Tree::root(), 2), kept("a"));
        tree.keep(at(Tree::root(), 70), kept("c"));
        let mut out = String::new();
        let put = |kept: Kept| {
            out.push_str(&kept.text());
            Ok(())
        };
        tree.finish(put).expect("nothing fails here");
        assert_eq!(out, "abc");
    }
}
