//! Which files are which tables.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use super::*;
use crate::tables::testing::Folders;

fn places(folders: &Folders) -> [Place; 1] {
    [Place::Folder(Arc::new(Root::new(&folders.root()).unwrap()))]
}

#[test]
fn a_name_is_lower_case_and_plain() {
    assert_eq!(table_name("LineItem"), "lineitem");
    assert_eq!(table_name("sales-2024.01"), "sales_2024_01");
    assert_eq!(table_name("Größe \""), "gr__e__");
}

#[test]
fn the_files_of_a_table_are_in_order_and_have_two_paths() {
    let folders = Folders::new();
    for name in [
        "t/b.csv",
        "t/a/c.csv",
        "t/a.csv",
        "t/x.txt",
        "t/_x.csv",
        "t/.y.csv",
    ] {
        folders.csv(name, "a\n1\n");
    }
    let listing = find(&places(&folders), "t").unwrap().unwrap();
    let paths: Vec<_> = listing.files.iter().map(|file| file.below.as_str()).collect();
    assert_eq!(paths, ["a.csv", "a/c.csv", "b.csv"]);
    assert_eq!(listing.files[1].in_root, "t/a/c.csv");
    assert_eq!(
        listing.path_of(&listing.files[1]),
        listing.root.path().join("t/a/c.csv")
    );
}

#[test]
fn three_files_of_a_name_are_none() {
    let folders = Folders::new();
    for name in ["T.csv", "t.CSV", "t.csv"] {
        folders.csv(name, "a\n1\n");
    }
    let error = find(&places(&folders), "t").unwrap_err();
    assert!(matches!(error, TablesError::SameName { .. }), "{error}");
    assert_eq!(all(&places(&folders)).0.len(), 1);
}

#[test]
fn a_file_whose_name_is_no_text_is_an_error_of_its_table() {
    let folders = Folders::new();
    folders.csv("t/a.csv", "a\n1\n");
    let name = OsStr::from_bytes(b"b\xff.csv");
    fs::write(folders.path("t").join(name), "a\n1\n").unwrap();
    let error = find(&places(&folders), "t").unwrap_err().to_string();
    assert!(error.contains("UTF-8"), "{error}");
}

#[test]
fn folders_end_somewhere() {
    let folders = Folders::new();
    let deep = ["d"; DEPTH_MAX + 2].join("/");
    folders.csv(&format!("t/{deep}/a.csv"), "a\n1\n");
    let error = find(&places(&folders), "t").unwrap_err().to_string();
    assert!(error.contains("folders deep"), "{error}");
}

#[test]
fn a_folder_that_is_gone_is_an_error_unless_another_has_the_table() {
    let folders = Folders::new();
    folders.csv("a/t.csv", "a\n1\n");
    folders.csv("b/u.csv", "a\n1\n");
    let place = |name: &str| Place::Folder(Arc::new(Root::new(&folders.path(name)).unwrap()));
    let places = [place("a"), place("b")];
    fs::remove_dir_all(folders.path("a")).unwrap();
    assert!(find(&places, "u").unwrap().is_some());
    let error = find(&places, "t").unwrap_err();
    assert!(matches!(error, TablesError::Unopened { .. }), "{error}");
    let (tables, errors) = all(&places);
    assert_eq!((tables.len(), errors.len()), (1, 1));
}
