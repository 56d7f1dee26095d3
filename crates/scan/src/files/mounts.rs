//! What is mounted where: whether a short read below a folder is the end of a file.
//!
//! A file system with a page cache reads up to the end, or up to a page that cannot be read. Others
//! cut a read as they like: `/proc` between its lines, FUSE where its server does. Linux says for
//! each mount what it is (`proc_pid_mountinfo(5)`).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// File systems that read by way of the page cache.
const PLAIN: [&[u8]; 7] = [b"btrfs", b"ext2", b"ext3", b"ext4", b"f2fs", b"tmpfs", b"xfs"];

/// Whether all files below `folder` are in one such file system, with nothing mounted among them.
pub(super) fn is_plain(folder: &Path) -> bool {
    // What is not known is not plain.
    let known = folder.canonicalize().and_then(|folder| {
        let mounts = std::fs::read("/proc/self/mountinfo")?;
        Ok(is_plain_by(&mounts, &folder))
    });
    known.unwrap_or(false)
}

fn is_plain_by(mounts: &[u8], folder: &Path) -> bool {
    let mut of_folder: Option<(PathBuf, bool)> = None;
    for line in mounts
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let Some((point, is_plain)) = mount(line) else {
            return false;
        };
        if point != folder && point.starts_with(folder) {
            return false;
        }
        // Of two mounts at one place the later one is seen.
        let is_nearer = of_folder
            .as_ref()
            .is_none_or(|(known, _)| point.starts_with(known));
        if folder.starts_with(&point) && is_nearer {
            of_folder = Some((point, is_plain));
        }
    }
    of_folder.is_some_and(|(_, is_plain)| is_plain)
}

/// Where something is mounted, and whether it is plain.
fn mount(line: &[u8]) -> Option<(PathBuf, bool)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let point = fields.nth(4)?;
    fields.find(|field| *field == b"-")?;
    let kind = fields.next()?;
    Some((unescaped(point).into(), PLAIN.contains(&kind)))
}

/// A space, a tab, a newline and a backslash stand there as `\` and three octal digits.
fn unescaped(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, behind @ ..] = rest {
        match rest {
            [b'\\', digits @ ..] if digits.len() >= 3 => {
                let (digits, behind) = digits.split_at(3);
                let value = digits.iter().fold(0_u8, |value, digit| {
                    value.wrapping_mul(8).wrapping_add(digit.wrapping_sub(b'0'))
                });
                bytes.push(value);
                rest = behind;
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
        22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw\n\
        30 27 0:30 / /data rw - xfs /dev/vdb rw\n\
        31 30 0:31 / /data/with\\040space rw - fuse.sshfs there rw\n\
        32 27 0:32 / /over rw - overlay overlay rw\n\
        33 27 0:33 / /twice rw - ext4 /dev/vdc rw\n\
        34 33 0:34 / /twice rw - fuse.sshfs there rw\n\
        35 27 0:35 /meminfo /etc/meminfo rw - proc proc rw\n";

    #[test]
    fn a_folder_is_plain_if_its_mount_is_and_none_is_below() {
        let is_plain = |folder: &str| is_plain_by(MOUNTS, Path::new(folder));
        for folder in ["/home", "/data/a", "/database", "/data/with", "/etc/init.d"] {
            assert!(is_plain(folder), "{folder}");
        }
        for folder in [
            "/",
            "/data",
            "/data/with space/a",
            "/proc/1",
            "/over",
            "/twice/a",
            "/etc",
        ] {
            assert!(!is_plain(folder), "{folder}");
        }
        assert!(!is_plain_by(b"", Path::new("/home")));
        assert!(!is_plain_by(b"27 1 254:0 / / rw\n", Path::new("/home")));
    }
}
