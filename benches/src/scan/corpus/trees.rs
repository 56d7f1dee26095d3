//! Trees of many files: flat, in folders, beside a large one, in a chain, copied from others.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::text::{self, CHECKPOINT, RARE};
use crate::random::Random;

const SEED: u64 = 0x5eed_0002;
const SMALL_MAX: u64 = 200;
const FOLDERS: u64 = 1_000;
/// Small files in a folder beside the large one.
const IN_A_FOLDER: u64 = 1_000;
/// Files for each one with the rare literal.
const RARE_EVERY: u64 = 100_000;

/// `files` of 0 to 200 bytes in one folder.
pub(super) fn many(into: &Path, files: u64) -> Result<()> {
    let mut random = Random::new(SEED);
    for number in 0..files {
        let mut text = text::small(random.below(SMALL_MAX + 1), &mut random);
        if number % RARE_EVERY == 7 {
            text = format!("{RARE}\n").into_bytes();
        }
        fs::write(into.join(many_name(number)), text)?;
    }
    Ok(())
}

fn many_name(number: u64) -> String {
    format!("file-{number:07}.txt")
}

/// The same files in a thousand folders, as links: they need no other place on the disk.
pub(super) fn in_folders(from: &Path, into: &Path, files: u64) -> Result<()> {
    let folder = |number: u64| into.join(format!("folder-{:04}", number % FOLDERS));
    for number in 0..files {
        if number < FOLDERS {
            fs::create_dir(folder(number))?;
        }
        let name = many_name(number);
        fs::hard_link(from.join(&name), folder(number).join(name))?;
    }
    Ok(())
}

/// `small` files, each with one checkpoint, and a log of `large` bytes that sorts before them.
pub(super) fn beside(into: &Path, small: u64, large: u64) -> Result<()> {
    let mut random = Random::new(SEED);
    text::log(&into.join("large.log"), large, text::LOG)?;
    for number in 0..small {
        let folder = into.join(format!("small-{:03}", number / IN_A_FOLDER));
        if number % IN_A_FOLDER == 0 {
            fs::create_dir(&folder)?;
        }
        let mut text = text::small(random.below(2_000), &mut random);
        text.extend(format!("{CHECKPOINT} of {number}\n").into_bytes());
        fs::write(folder.join(format!("{number:05}.txt")), text)?;
    }
    Ok(())
}

/// A chain of `length` folders, each with `files`; one file in each has the rare literal.
///
/// It is made from its end: each folder is moved into the one before it, so no path is long.
pub(super) fn chain(into: &Path, length: u64, files: u64) -> Result<()> {
    let mut random = Random::new(SEED);
    let mut last: Option<PathBuf> = None;
    for level in (0..length).rev() {
        let folder = into.join(format!("new-{level:04}"));
        fs::create_dir(&folder)?;
        for number in 0..files {
            let mut text = text::small(random.below(SMALL_MAX + 1), &mut random);
            if number == 0 {
                text.extend(format!("{RARE} at {level}\n").into_bytes());
            }
            fs::write(folder.join(format!("{number:03}.txt")), text)?;
        }
        if let Some(last) = last.take() {
            fs::rename(last, folder.join(format!("level-{:04}", level + 1)))?;
        }
        last = Some(folder);
    }
    let first = last.context("a chain has a folder")?;
    Ok(fs::rename(first, into.join("level-0000"))?)
}

/// Copies of the first `files` Rust sources below `from`, by path.
pub(super) fn some_of(from: &Path, into: &Path, files: usize) -> Result<()> {
    let mut sources = Vec::new();
    super::for_each_file(from, &|_| true, &mut |path| {
        if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path.to_owned());
        }
        Ok(())
    })?;
    sources.sort();
    ensure!(sources.len() >= files, "the registry has no {files} sources");
    // Evenly from all crates.
    let step = sources.len() / files;
    for (number, source) in sources.iter().step_by(step).take(files).enumerate() {
        let folder = into.join(format!("{:02}", number / 10));
        fs::create_dir_all(&folder)?;
        fs::copy(source, folder.join(format!("{number:02}.rs")))?;
    }
    Ok(())
}

pub(super) fn links(into: &Path) -> Result<()> {
    fs::create_dir_all(into.join("folder"))?;
    fs::write(into.join("folder/file.txt"), "a file that links point to\n")?;
    symlink("folder/file.txt", into.join("to-file"))?;
    symlink("folder", into.join("to-folder"))?;
    symlink("nowhere", into.join("dangling"))?;
    symlink("..", into.join("folder/loop"))?;
    symlink("itself", into.join("itself"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files_below(folder: &Path) -> Vec<String> {
        let mut files = Vec::new();
        super::super::for_each_file(folder, &|_| true, &mut |path| {
            files.push(path.strip_prefix(folder)?.display().to_string());
            Ok(())
        })
        .unwrap();
        files.sort();
        files
    }

    #[test]
    fn the_same_files_are_in_one_folder_and_in_many() {
        let folder = tempfile::tempdir().unwrap();
        let [one, many_folders] = ["one", "folders"].map(|name| folder.path().join(name));
        fs::create_dir(&one).unwrap();
        fs::create_dir(&many_folders).unwrap();
        many(&one, 2_500).unwrap();
        in_folders(&one, &many_folders, 2_500).unwrap();
        assert_eq!(files_below(&one).len(), 2_500);
        let files = files_below(&many_folders);
        assert_eq!(files.len(), 2_500);
        assert_eq!(files[1], "folder-0000/file-0001000.txt");
        let with_rare = |path: &String| fs::read_to_string(one.join(path)).unwrap().contains(RARE);
        assert_eq!(files_below(&one).iter().filter(|path| with_rare(path)).count(), 1);
    }

    #[test]
    fn small_files_are_beside_a_large_one_and_all_have_checkpoints() {
        let folder = tempfile::tempdir().unwrap();
        beside(folder.path(), 30, 10_000).unwrap();
        let files = files_below(folder.path());
        assert_eq!((files.len(), files[0].as_str()), (31, "large.log"));
        for file in files {
            let text = fs::read_to_string(folder.path().join(&file)).unwrap();
            assert!(text.contains(CHECKPOINT), "{file}");
        }
    }

    #[test]
    fn a_chain_has_its_files_at_every_level() {
        let folder = tempfile::tempdir().unwrap();
        chain(folder.path(), 3, 2).unwrap();
        let files = files_below(folder.path());
        assert_eq!(files.len(), 6);
        assert_eq!(files[5], "level-0000/level-0001/level-0002/001.txt");
    }
}
