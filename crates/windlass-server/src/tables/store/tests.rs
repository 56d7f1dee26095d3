//! What the store reads and refuses.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use object_store::ObjectStoreExt as _;
use tokio::runtime::Runtime;

use super::*;
use crate::tables::testing::Folders;

struct Fixture {
    folders: Folders,
    runtime: Runtime,
    store: TablesStore,
    root: Arc<Root>,
}

impl Fixture {
    fn new() -> Self {
        let folders = Folders::new();
        let root = Arc::new(Root::new(&folders.root()).unwrap());
        Self {
            runtime: Runtime::new().unwrap(),
            store: TablesStore::new(vec![Arc::clone(&root)]),
            folders,
            root,
        }
    }

    fn get(&self, location: &Location) -> Result<Bytes> {
        self.runtime
            .block_on(async { self.store.get(location).await?.bytes().await })
    }

    fn listed(&self, prefix: Option<&Location>) -> Vec<String> {
        let listed = self.store.list(prefix).map(|object| object.unwrap().location);
        let listed: Vec<_> = self.runtime.block_on(listed.collect());
        listed.into_iter().map(|location| location.to_string()).collect()
    }
}

fn location(path: &Path) -> Location {
    Location::parse(path.to_str().unwrap()).unwrap()
}

#[test]
fn files_below_a_root_are_read_whole_and_in_ranges() {
    let fixture = Fixture::new();
    let path = fixture.folders.csv("a/b.csv", "0123456789");
    let at = location(&path);
    assert_eq!(fixture.get(&at).unwrap(), "0123456789");
    let store = &fixture.store;
    fixture.runtime.block_on(async {
        assert_eq!(store.get_range(&at, 2..5).await.unwrap(), "234");
        let ranges = store.get_ranges(&at, &[0..1, 9..20, 3..4]).await.unwrap();
        assert_eq!(ranges, ["0", "9", "3"]);
        assert!(store.get_range(&at, 10..11).await.is_err());
        let beyond = store.get_ranges(&at, std::slice::from_ref(&(10..u64::MAX))).await;
        assert!(beyond.is_err());
        let options = GetOptions {
            range: Some(GetRange::Suffix(3)),
            ..GetOptions::default()
        };
        let end = store.get_opts(&at, options).await.unwrap();
        assert_eq!((end.range.clone(), end.meta.size), (7..10, 10));
        assert_eq!(end.bytes().await.unwrap(), "789");
        assert_eq!(store.head(&at).await.unwrap().size, 10);
    });
}

#[test]
fn long_files_come_in_chunks() {
    let fixture = Fixture::new();
    let text: String = (0..400_000).map(|row| format!("{row:07}\n")).collect();
    let path = fixture.folders.csv("a.csv", &text);
    fixture.runtime.block_on(async {
        let stream = fixture.store.get(&location(&path)).await.unwrap().into_stream();
        let chunks: Vec<Bytes> = stream.map(|chunk| chunk.unwrap()).collect().await;
        assert_eq!(chunks.len(), text.len().div_ceil(1 << 20));
        assert!(chunks.concat() == text.as_bytes());
    });
}

#[test]
fn without_a_runtime_files_are_read_on_the_callers_thread() {
    let fixture = Fixture::new();
    let path = fixture.folders.csv("a.csv", "text");
    let at = location(&path);
    let mut read = std::pin::pin!(async { fixture.store.get(&at).await?.bytes().await });
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(bytes) = read.as_mut().poll(&mut context) else {
        panic!("reading waits for something");
    };
    assert_eq!(bytes.unwrap(), "text");
}

#[test]
fn what_is_outside_is_refused() {
    let fixture = Fixture::new();
    let folders = &fixture.folders;
    fs::write(folders.outside("secret"), "secret").unwrap();
    let beside = folders.root().with_file_name("tables_beside");
    fs::write(&beside, "secret").unwrap();
    for path in [
        folders.outside("secret"),
        beside,
        "/etc/passwd".into(),
        "/proc/self/environ".into(),
    ] {
        let error = fixture.get(&location(&path)).unwrap_err();
        assert!(matches!(error, Error::PermissionDenied { .. }), "{error}");
        let listed = fixture.listed(Some(&location(&path)));
        assert!(listed.is_empty(), "{listed:?}");
    }
    // Locations parse no `..`; built ones take it as a name.
    assert!(Location::parse(folders.path("../outside/secret").to_str().unwrap()).is_err());
    let dots = Location::from(folders.path("../outside/secret").to_str().unwrap());
    assert!(matches!(fixture.get(&dots), Err(Error::NotFound { .. })));
    // The root is a folder, and `/` is outside of every root.
    assert!(fixture.get(&location(&folders.root())).is_err());
    assert!(fixture.get(&Location::default()).is_err());
}

#[test]
fn links_are_refused_wherever_they_lead() {
    let fixture = Fixture::new();
    let folders = &fixture.folders;
    folders.csv("in/a", "inside");
    fs::write(folders.outside("a"), "secret").unwrap();
    symlink(folders.outside("a"), folders.path("file")).unwrap();
    symlink(folders.outside(""), folders.path("folder")).unwrap();
    symlink("in/a", folders.path("near")).unwrap();
    symlink("in", folders.path("near_folder")).unwrap();
    symlink("nowhere", folders.path("broken")).unwrap();
    for name in ["file", "folder/a", "near", "near_folder/a", "broken"] {
        assert!(fixture.get(&location(&folders.path(name))).is_err(), "{name}");
        assert!(fixture.listed(Some(&location(&folders.path(name)))).is_empty());
    }
    assert_eq!(fixture.get(&location(&folders.path("in/a"))).unwrap(), "inside");
    let only = location(&folders.path("in/a")).to_string();
    for prefix in [None, Some(&location(&folders.root()))] {
        assert_eq!(fixture.listed(prefix), std::slice::from_ref(&only));
    }
}

/// The open may find either, but never the target.
#[test]
fn a_link_that_comes_and_goes_is_never_followed() {
    let fixture = Fixture::new();
    let folders = &fixture.folders;
    fs::write(folders.outside("a"), "secret").unwrap();
    folders.csv("folder/a", "inside");
    let (folder, kept, link) = (folders.path("folder"), folders.path("kept"), folders.path("link"));
    symlink(folders.outside(""), &link).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                fs::rename(&folder, &kept).unwrap();
                fs::rename(&link, &folder).unwrap();
                fs::rename(&folder, &link).unwrap();
                fs::rename(&kept, &folder).unwrap();
            }
        });
        let at = location(&folder.join("a"));
        let mut read: Vec<_> = (0..3_000).filter_map(|_| fixture.get(&at).ok()).collect();
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        read.dedup();
        assert_eq!(read, ["inside"]);
    });
}

#[test]
fn special_files_are_refused_at_once() {
    let fixture = Fixture::new();
    let path = fixture.folders.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
    let error = fixture.get(&location(&path)).unwrap_err().to_string();
    assert!(error.contains("no regular file"), "{error}");
    let path = fixture.folders.path("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(fixture.get(&location(&path)).is_err());
    fs::create_dir(fixture.folders.path("folder")).unwrap();
    assert!(fixture.get(&location(&fixture.folders.path("folder"))).is_err());
    let devices = TablesStore::new(vec![Arc::new(Root::new(Path::new("/dev")).unwrap())]);
    let read = fixture
        .runtime
        .block_on(devices.get(&Location::parse("dev/zero").unwrap()));
    assert!(read.is_err());
}

#[test]
fn nothing_is_written() {
    let fixture = Fixture::new();
    let path = fixture.folders.csv("a.csv", "text");
    let (at, new) = (location(&path), location(&fixture.folders.path("new.csv")));
    let store = &fixture.store;
    fixture.runtime.block_on(async {
        for error in [
            store.put(&new, "x".into()).await.map(drop).unwrap_err(),
            store.put_multipart(&new).await.map(drop).unwrap_err(),
            store.delete(&at).await.unwrap_err(),
            store.copy(&at, &new).await.unwrap_err(),
            store.copy_if_not_exists(&at, &new).await.unwrap_err(),
            store.rename(&at, &new).await.unwrap_err(),
            store.rename_if_not_exists(&at, &new).await.unwrap_err(),
        ] {
            assert!(error.to_string().contains("read-only"), "{error}");
        }
    });
    assert_eq!(fs::read_to_string(path).unwrap(), "text");
    assert_eq!(fixture.listed(None).len(), 1);
}

#[test]
fn a_location_with_a_version_reads_that_version_or_nothing() {
    let fixture = Fixture::new();
    let path = fixture.folders.csv("a.csv", "text");
    let version = || {
        let file = fixture.root.open(Path::new("a.csv")).unwrap();
        file.version().unwrap()
    };
    let meta = fixture.store.meta(&path, &version()).unwrap();
    assert_eq!(meta.size, 4);
    assert_eq!(fixture.get(&meta.location).unwrap(), "text");
    // A plan that is sent keeps the location.
    assert_eq!(Location::parse(meta.location.as_ref()).unwrap(), meta.location);
    let new = fixture.folders.csv("b.csv", "text");
    fs::rename(new, &path).unwrap();
    let error = fixture.get(&meta.location).unwrap_err();
    assert!(matches!(error, Error::Precondition { .. }), "{error}");
    // Another process's copies have other times.
    let other = TablesStore::new(vec![Arc::clone(&fixture.root)]);
    let read = |location| async move { other.get(location).await?.bytes().await };
    assert_eq!(fixture.runtime.block_on(read(&meta.location)).unwrap(), "text");
    fs::write(&path, "longer").unwrap();
    let other = TablesStore::new(vec![Arc::clone(&fixture.root)]);
    let read = fixture.runtime.block_on(other.get(&meta.location));
    assert!(matches!(read, Err(Error::Precondition { .. })));
}

#[test]
fn a_change_between_two_chunks_is_an_error() {
    let fixture = Fixture::new();
    let long = "x".repeat(3 << 20);
    for (text, modified_s) in [("shorter", 1), (&long, 2)] {
        let path = fixture.folders.csv("a.csv", &long);
        let file = fixture.root.open(Path::new("a.csv")).unwrap();
        let meta = fixture.store.meta(&path, &file.version().unwrap()).unwrap();
        fixture.runtime.block_on(async {
            let mut stream = fixture.store.get(&meta.location).await.unwrap().into_stream();
            assert_eq!(stream.next().await.unwrap().unwrap().len(), 1 << 20);
            fs::write(&path, text).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(modified_s);
            let changed = fs::File::options().write(true).open(&path).unwrap();
            changed.set_modified(time).unwrap();
            let error = stream.next().await.unwrap().unwrap_err();
            assert!(matches!(error, Error::Precondition { .. }), "{error}");
        });
    }
}

#[test]
fn a_listing_has_folders_and_files_of_a_level() {
    let fixture = Fixture::new();
    for name in ["a.csv", "k=1/b.csv", "k=1/more/c.csv", "k=2/d.csv"] {
        fixture.folders.csv(name, "text");
    }
    let root = location(&fixture.folders.root());
    let listed = fixture
        .runtime
        .block_on(fixture.store.list_with_delimiter(Some(&root)))
        .unwrap();
    let objects: Vec<_> = listed
        .objects
        .iter()
        .map(|object| object.location.filename())
        .collect();
    assert_eq!(objects, [Some("a.csv")]);
    let folders: Vec<_> = listed.common_prefixes.iter().map(Location::filename).collect();
    assert_eq!(folders, [Some("k=1"), Some("k=2")]);
    let one = location(&fixture.folders.path("k=1"));
    assert_eq!(fixture.listed(Some(&one)).len(), 2);
}

#[test]
fn a_root_that_is_a_file_is_that_file_only() {
    let fixture = Fixture::new();
    let path = fixture.folders.csv("a.csv", "text");
    let other = fixture.folders.csv("b.csv", "other");
    let store = TablesStore::new(vec![Arc::new(Root::new(&path).unwrap())]);
    let fixture = Fixture { store, ..fixture };
    assert_eq!(fixture.get(&location(&path)).unwrap(), "text");
    assert!(fixture.get(&location(&other)).is_err());
    assert_eq!(fixture.listed(None), [location(&path).to_string()]);
}
