//! The command line: the modes and options of this bench.

use std::path::PathBuf;

use anyhow::Context as _;
use lexopt::ValueExt as _;
use paced_load::{Setting, Settings, parse_to};

use crate::engine::{self, Kind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Beside,
    Each,
    Shorts,
    Cancel,
    Timeline,
    Objects,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    pub(crate) load: Settings,
    pub(crate) engines: Vec<Kind>,
    pub(crate) short_join: bool,
    pub(crate) parquet: Option<PathBuf>,
    pub(crate) main: Option<usize>,
    pub(crate) spares: usize,
    pub(crate) threads: usize,
    pub(crate) out: Option<PathBuf>,
}

impl Options {
    /// Returns `None` if only the usage was asked for.
    pub(crate) fn read() -> anyhow::Result<Option<Self>> {
        let defaults = Self {
            mode: Mode::Beside,
            load: Settings::default(),
            engines: Vec::new(),
            short_join: false,
            parquet: None,
            main: None,
            spares: engine::THREADS,
            threads: engine::THREADS,
            out: None,
        };
        let Some(mut options) = paced_load::read(defaults, std::env::args_os().skip(1))? else {
            return Ok(None);
        };
        if options.engines.is_empty() {
            options.engines = vec![Kind::Plain, Kind::Windlass];
        }
        Ok(Some(options))
    }
}

impl paced_load::Options for Options {
    type Mode = Mode;

    const ABOUT: &'static str = "Short queries beside heavy ones, in plain DataFusion and on windlass: \
         cargo xtask bench datafusion [MODE] [OPTIONS]";

    const MODES: &'static [(&'static str, Mode, &'static str)] = &[
        (
            "beside",
            Mode::Beside,
            "a short query at a fixed pace beside clients with heavy ones: a row for each engine",
        ),
        (
            "each",
            Mode::Each,
            "the 22 queries of TPC-H by one client: time and memory beside plain, and the same rows",
        ),
        (
            "shorts",
            Mode::Shorts,
            "many clients with short queries only: throughput",
        ),
        (
            "objects",
            Mode::Objects,
            "a query over an object that is far away, beside heavy ones",
        ),
        (
            "timeline",
            Mode::Timeline,
            "a picture of who polls what, for each engine",
        ),
        (
            "cancel",
            Mode::Cancel,
            "a query is dropped beside heavy ones: how long until its last task is dropped",
        ),
    ];

    const OWN: &'static [Setting<Self>] = &[
        Setting::new(
            "engine",
            "NAME",
            "plain, batches-1024, second-runtime, windlass, session; repeated",
            |options, value| {
                let kind = Kind::of_name(&value.string()?).context("no such engine")?;
                options.engines.push(kind);
                Ok(())
            },
        ),
        Setting::new(
            "short-join",
            "",
            "the short query is a join of two small tables",
            |options, _none| {
                options.short_join = true;
                Ok(())
            },
        ),
        Setting::new(
            "parquet",
            "FOLDER",
            "the tables are files there; for `objects` only the object is",
            |options, value| {
                options.parquet = Some(value.into());
                Ok(())
            },
        ),
        Setting::new("main", "N", "main workers of windlass", |options, value| {
            options.main = Some(value.parse()?);
            Ok(())
        }),
        Setting::new("spares", "N", "spare threads of windlass", |options, value| {
            parse_to(&mut options.spares, value)
        }),
        Setting::new(
            "threads",
            "N",
            "of the clients' runtime, on which plain DataFusion computes",
            |options, value| parse_to(&mut options.threads, value),
        ),
        Setting::new("out", "FILE", "the picture of `timeline`", |options, value| {
            options.out = Some(value.into());
            Ok(())
        }),
    ];

    fn mode(&mut self) -> &mut Mode {
        &mut self.mode
    }

    fn load(&mut self) -> &mut Settings {
        &mut self.load
    }
}
