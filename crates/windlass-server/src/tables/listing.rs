//! Which files are which tables, now.
//!
//! A listing reads names and metadata, and opens no file. It reads the names in a folder with
//! tables, and the metadata of the files (`fstatat`, about a microsecond) of the requested tables
//! only. Files that come or go meanwhile are listed or not; neither is an error.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::TablesError;
use super::root::{Folder, Kind, Root, is_absent};
use super::store::DEPTH_MAX;
use super::version::Version;

/// Their presence says that a log decides which files count.
const LOGS: [(&str, &str); 2] = [("_delta_log", "a Delta table"), (".hoodie", "a Hudi table")];

#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Its files and folders are tables.
    Folder(Arc<Root>),
    /// One table.
    Table(String, Arc<Root>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Parquet,
    Csv,
}

/// Files in the order of their paths.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// The table's file or folder.
    pub(crate) path: PathBuf,
    pub(crate) root: Arc<Root>,
    pub(crate) format: Format,
    pub(crate) files: Vec<ListedFile>,
}

/// Regular, and not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedFile {
    /// Path below the table's folder; empty if the file is the table.
    pub(crate) below: String,
    /// Path below the root.
    pub(crate) in_root: String,
    pub(crate) version: Version,
}

impl Listing {
    pub(crate) fn path_of(&self, file: &ListedFile) -> PathBuf {
        self.root.join(&file.in_root)
    }
}

impl Format {
    pub(crate) fn of(name: &Path) -> Option<Self> {
        let extension = name.extension()?;
        if extension.eq_ignore_ascii_case("parquet") {
            Some(Self::Parquet)
        } else if extension.eq_ignore_ascii_case("csv") {
            Some(Self::Csv)
        } else {
            None
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parquet => "Parquet",
            Self::Csv => "CSV",
        })
    }
}

pub(crate) type Listings = BTreeMap<String, Result<Listing, TablesError>>;

/// Also returns the folders that could not be read.
pub(crate) fn all(places: &[Place]) -> (Listings, Vec<TablesError>) {
    look(places, None)
}

/// A folder that cannot be read is an error only if no other has the table.
pub(crate) fn find(places: &[Place], table: &str) -> Result<Option<Listing>, TablesError> {
    let (mut tables, errors) = look(places, Some(table));
    match tables.remove(table) {
        Some(listing) => listing.map(Some),
        None => errors.into_iter().next().map_or(Ok(None), Err),
    }
}

/// In lower case, with `_` for all but ASCII's letters, digits and `_`.
pub(crate) fn table_name(stem: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    stem.chars()
        .flat_map(char::to_lowercase)
        .map(|c| if plain(c) { c } else { '_' })
        .collect()
}

fn look(places: &[Place], only: Option<&str>) -> (Listings, Vec<TablesError>) {
    let mut tables = Listings::new();
    let mut errors = Vec::new();
    for place in places {
        match place {
            Place::Folder(root) => {
                if let Err(error) = look_into(root, only, &mut tables) {
                    errors.push(TablesError::io(root.path(), &error));
                }
            }
            Place::Table(name, root) => {
                if only.is_none_or(|only| only == name) {
                    let listing = named(root);
                    add(&mut tables, name, root.path(), listing);
                }
            }
        }
    }
    (tables, errors)
}

fn look_into(root: &Arc<Root>, only: Option<&str>, tables: &mut Listings) -> io::Result<()> {
    let folder = root.folder(Path::new(""))?;
    let mut entries = folder.entries()?;
    // So messages name two files in the same order every time.
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (name, kind) in entries {
        let file_name = Path::new(&name);
        if is_hidden(&name) || (kind == Kind::Folder && is_marker(&name)) {
            continue;
        }
        let (stem, format) = match kind {
            Kind::Folder => (name.as_os_str(), None),
            Kind::File => match (file_name.file_stem(), Format::of(file_name)) {
                (Some(stem), Some(format)) => (stem, Some(format)),
                _ => continue,
            },
        };
        let table = table_name(&stem.to_string_lossy());
        if only.is_some_and(|only| only != table) {
            continue;
        }
        let path = root.path().join(&name);
        let listing = match format {
            Some(format) => list_file(root, &folder, &name, format),
            None => list_folder(root, &folder, &name),
        };
        match listing {
            Ok(None) => {}
            Ok(Some(listing)) => add(tables, &table, &path, Ok(listing)),
            Err(error) => add(tables, &table, &path, Err(error)),
        }
    }
    Ok(())
}

/// Two tables of one name are both refused.
fn add(tables: &mut Listings, table: &str, path: &Path, listing: Result<Listing, TablesError>) {
    match tables.entry(table.to_owned()) {
        Entry::Vacant(entry) => {
            entry.insert(listing);
        }
        Entry::Occupied(mut entry) => {
            let first = match entry.get() {
                Ok(listing) => listing.path.display().to_string(),
                Err(TablesError::SameName { first, .. }) => first.clone(),
                Err(TablesError::Unreadable { path, .. } | TablesError::Unopened { path, .. }) => {
                    path.display().to_string()
                }
                Err(error) => error.to_string(),
            };
            *entry.get_mut() = Err(TablesError::SameName {
                table: table.to_owned(),
                first,
                second: path.display().to_string(),
            });
        }
    }
}

fn list_file(
    root: &Arc<Root>,
    folder: &Folder,
    name: &OsStr,
    format: Format,
) -> Result<Option<Listing>, TablesError> {
    let path = root.path().join(name);
    let version = folder
        .version(name)
        .map_err(|error| TablesError::io(&path, &error))?;
    let Some(version) = version else {
        return Ok(None);
    };
    let file = ListedFile {
        below: String::new(),
        in_root: text(name, &path)?.to_owned(),
        version,
    };
    Ok(Some(Listing {
        path,
        root: Arc::clone(root),
        format,
        files: vec![file],
    }))
}

fn list_folder(root: &Arc<Root>, folder: &Folder, name: &OsStr) -> Result<Option<Listing>, TablesError> {
    let path = root.path().join(name);
    let folder = match folder.folder(name) {
        Ok(folder) => folder,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(TablesError::io(path, &error)),
    };
    let prefix = format!("{}/", text(name, &path)?);
    list_parts(root, &folder, path, &prefix)
}

fn named(root: &Arc<Root>) -> Result<Listing, TablesError> {
    let path = root.path();
    let unreadable = |error| TablesError::io(path, &error);
    if !root.is_file() {
        let folder = root.folder(Path::new("")).map_err(unreadable)?;
        let listing = list_parts(root, &folder, path.to_owned(), "")?;
        return listing
            .ok_or_else(|| TablesError::unreadable(path, "no Parquet or CSV file is in the folder"));
    }
    let format = Format::of(path)
        .ok_or_else(|| TablesError::unreadable(path, "its name ends neither in .parquet nor in .csv"))?;
    let version = root
        .version()
        .map_err(unreadable)?
        .ok_or_else(|| TablesError::unreadable(path, "there is no such file"))?;
    let file = ListedFile {
        below: String::new(),
        in_root: String::new(),
        version,
    };
    Ok(Listing {
        path: path.to_owned(),
        root: Arc::clone(root),
        format,
        files: vec![file],
    })
}

/// Files at any depth; `None` if no file has rows.
fn list_parts(
    root: &Arc<Root>,
    folder: &Folder,
    path: PathBuf,
    prefix: &str,
) -> Result<Option<Listing>, TablesError> {
    let mut parts = Parts {
        path: &path,
        prefix,
        files: Vec::new(),
    };
    parts.walk(folder, "", DEPTH_MAX)?;
    let mut files = parts.files;
    files.sort_by(|(a, _), (b, _)| a.below.cmp(&b.below));
    let Some((first, format)) = files.first().cloned() else {
        return Ok(None);
    };
    if let Some((other, other_format)) = files.iter().find(|(_, other)| *other != format) {
        return Err(TablesError::PartsDiffer {
            first: path.join(first.below),
            second: path.join(&other.below),
            reason: format!("one is {format}, the other {other_format}"),
        });
    }
    Ok(Some(Listing {
        path,
        root: Arc::clone(root),
        format,
        files: files.into_iter().map(|(file, _)| file).collect(),
    }))
}

struct Parts<'a> {
    path: &'a Path,
    prefix: &'a str,
    files: Vec<(ListedFile, Format)>,
}

impl Parts<'_> {
    fn walk(&mut self, folder: &Folder, below: &str, depth_left: usize) -> Result<(), TablesError> {
        let path = self.path;
        let here = path.join(below);
        let entries = match folder.entries() {
            Ok(entries) => entries,
            // Removed since it was opened.
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(TablesError::io(&here, &error)),
        };
        for (name, kind) in entries {
            if let Some((_, what)) = LOGS.iter().find(|(log, _)| name == *log) {
                return Err(TablesError::unreadable(
                    here,
                    format!("it is {what}, whose files are read right by its log only"),
                ));
            }
            let format = Format::of(Path::new(&name));
            if is_hidden(&name) || is_marker(&name) || (kind == Kind::File && format.is_none()) {
                continue;
            }
            let file_path = here.join(&name);
            let below = format!("{below}{}", text(&name, &file_path)?);
            match (kind, format) {
                (Kind::File, Some(format)) => {
                    let version = folder
                        .version(&name)
                        .map_err(|error| TablesError::io(&file_path, &error))?;
                    // Writers leave empty files as marks.
                    if let Some(version) = version.filter(|version| version.len() > 0) {
                        let file = ListedFile {
                            in_root: format!("{}{below}", self.prefix),
                            below,
                            version,
                        };
                        self.files.push((file, format));
                    }
                }
                (Kind::File, None) => {}
                (Kind::Folder, _) if depth_left == 0 => {
                    return Err(TablesError::unreadable(
                        file_path,
                        format!("it is more than {DEPTH_MAX} folders deep"),
                    ));
                }
                (Kind::Folder, _) => match folder.folder(&name) {
                    Ok(folder) => self.walk(&folder, &format!("{below}/"), depth_left - 1)?,
                    Err(error) if is_absent(&error) => {}
                    Err(error) => return Err(TablesError::io(file_path, &error)),
                },
            }
        }
        Ok(())
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// What writers put beside a table's parts: `_SUCCESS`, `_temporary`, `_delta_log`. Partitions have
/// `=`.
fn is_marker(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"_") && !name.contains(&b'=')
}

/// A name for an object's path. Skipping a file for its name would lose rows, so that is an error.
fn text<'a>(name: &'a OsStr, path: &Path) -> Result<&'a str, TablesError> {
    name.to_str()
        .filter(|name| !name.contains(|c: char| c.is_ascii_control()))
        .ok_or_else(|| TablesError::unreadable(path, "its name is not UTF-8, or has control characters"))
}

#[cfg(test)]
mod tests;
