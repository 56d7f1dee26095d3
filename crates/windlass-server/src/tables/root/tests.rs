//! Names and paths that lead below a root, and those that would lead out of it.

use std::fs;

use super::*;
use crate::tables::testing::Folders;

#[test]
fn names_that_leave_a_folder_are_refused() {
    let folders = Folders::new();
    folders.csv("a/b.csv", "text");
    let root = Root::new(&folders.root()).unwrap();
    for path in ["..", "a/../a/b.csv", "../tables/a/b.csv", "/etc/passwd"] {
        assert!(root.open(Path::new(path)).is_err(), "{path}");
    }
    let folder = root.folder(Path::new("a")).unwrap();
    for name in ["", ".", "..", "/etc/passwd", "../a/b.csv"] {
        assert!(folder.file(OsStr::new(name)).is_err(), "{name}");
        assert!(folder.folder(OsStr::new(name)).is_err(), "{name}");
        assert!(folder.version(OsStr::new(name)).is_err(), "{name}");
    }
    assert!(folder.file(OsStr::new("b.csv")).is_ok());
}

#[test]
fn a_root_is_a_path_without_dots_and_without_links_above_it() {
    let folders = Folders::new();
    fs::create_dir(folders.path("a")).unwrap();
    std::os::unix::fs::symlink(folders.root(), folders.outside("link")).unwrap();
    let real = folders.root().canonicalize().unwrap();
    let path = |path: &Path| Root::new(path).unwrap().path().to_owned();
    assert_eq!(path(&folders.path("a/..")), real);
    assert_eq!(path(&folders.path("a/../a")), real.join("a"));
    assert_eq!(path(&folders.outside("link/a")), real.join("a"));
    let link = folders.outside("link");
    assert_eq!(path(&link).file_name(), link.file_name());
    assert_eq!(path(Path::new("/")), Path::new("/"));
}

#[test]
fn a_listed_version_is_that_of_the_open_file() {
    let folders = Folders::new();
    folders.csv("a.csv", "text");
    let root = Root::new(&folders.root()).unwrap();
    let folder = root.folder(Path::new("")).unwrap();
    let listed = folder.version(OsStr::new("a.csv")).unwrap().unwrap();
    let open = folder.file(OsStr::new("a.csv")).unwrap();
    assert_eq!(listed, open.version().unwrap());
    assert_eq!(listed.len(), 4);
    let modified = open.file().metadata().unwrap().modified().unwrap();
    assert_eq!(listed.modified(), modified);
}
