//! The command line of a bench: a mode, options of its own, and those of the load.

use std::ffi::OsString;
use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use lexopt::{Arg, Parser, ValueExt as _};

use crate::settings::{Setting, Settings};

/// What a bench reads from its command line, with its defaults.
pub trait Options: Sized + 'static {
    /// What the program does, in one of its ways.
    type Mode: Copy;

    /// The first lines of the usage.
    const ABOUT: &'static str;
    /// Each mode's name, and what it does. The first is the default.
    const MODES: &'static [(&'static str, Self::Mode, &'static str)];
    /// Options that only this bench has.
    const OWN: &'static [Setting<Self>];

    /// The chosen mode.
    fn mode(&mut self) -> &mut Self::Mode;

    /// The settings of the load.
    fn load(&mut self) -> &mut Settings;
}

/// Reads the words of a command line, the program's name left out, into the defaults. Prints the
/// usage and returns `None` if it is asked for.
///
/// # Errors
///
/// If a word is no mode or option, or a value makes no sense. The error names the option.
pub fn read<O: Options>(
    mut options: O,
    words: impl IntoIterator<Item = OsString>,
) -> anyhow::Result<Option<O>> {
    let mut parser = Parser::from_args(words);
    while let Some(word) = parser.next()? {
        let name = match word {
            Arg::Value(name) => {
                *options.mode() = mode_of::<O>(&name.string()?)?;
                continue;
            }
            // `cargo bench` adds it.
            Arg::Long("bench") => continue,
            Arg::Long("help") | Arg::Short('h') => {
                print!("{}", usage::<O>());
                return Ok(None);
            }
            Arg::Long(name) => name.to_owned(),
            other => return Err(other.unexpected().into()),
        };
        let set = if let Some(setting) = find(O::OWN, &name) {
            (setting.set)(&mut options, value(setting, &mut parser)?)
        } else if let Some(setting) = find(Settings::ALL, &name) {
            (setting.set)(options.load(), value(setting, &mut parser)?)
        } else {
            bail!("there is no option `--{name}`; `--help` lists them");
        };
        set.with_context(|| format!("--{name}"))?;
    }
    Ok(Some(options))
}

fn mode_of<O: Options>(name: &str) -> anyhow::Result<O::Mode> {
    let mode = O::MODES.iter().find(|(known, ..)| *known == name);
    let (_, mode, _) = mode.with_context(|| {
        let names: Vec<_> = O::MODES.iter().map(|(name, ..)| *name).collect();
        format!("there is no mode `{name}`: {}", names.join(", "))
    })?;
    Ok(*mode)
}

fn find<T>(settings: &'static [Setting<T>], name: &str) -> Option<&'static Setting<T>> {
    settings.iter().find(|setting| setting.name == name)
}

fn value<T>(setting: &Setting<T>, parser: &mut Parser) -> anyhow::Result<OsString> {
    if setting.value.is_empty() {
        return Ok(OsString::new());
    }
    Ok(parser.value()?)
}

fn usage<O: Options>() -> String {
    let mut text = format!("{}\n\nmodes, the first by default:\n", O::ABOUT);
    for (name, _, about) in O::MODES {
        line(&mut text, name, about);
    }
    text += "\noptions:\n";
    for setting in O::OWN {
        setting.tell(&mut text);
    }
    for setting in Settings::ALL {
        setting.tell(&mut text);
    }
    text
}

impl<T> Setting<T> {
    fn tell(&self, text: &mut String) {
        let name = format!("--{} {}", self.name, self.value);
        line(text, &name, self.about);
    }
}

fn line(text: &mut String, name: &str, about: &str) {
    writeln!(text, "  {name:<24} {about}").expect("a string takes all");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[derive(Debug)]
    struct Few {
        mode: char,
        names: Vec<String>,
        is_quiet: bool,
        load: Settings,
    }

    impl Options for Few {
        type Mode = char;

        const ABOUT: &'static str = "a bench";
        const MODES: &'static [(&'static str, char, &'static str)] =
            &[("all", 'a', "does all"), ("none", 'n', "does nothing")];
        const OWN: &'static [Setting<Self>] = &[
            Setting::new("name", "NAME", "a name, repeated", |few, value| {
                few.names.push(value.string()?);
                Ok(())
            }),
            Setting::new("quiet", "", "says nothing", |few, _none| {
                few.is_quiet = true;
                Ok(())
            }),
        ];

        fn mode(&mut self) -> &mut char {
            &mut self.mode
        }

        fn load(&mut self) -> &mut Settings {
            &mut self.load
        }
    }

    fn read(words: &[&str]) -> anyhow::Result<Option<Few>> {
        let defaults = Few {
            mode: 'a',
            names: Vec::new(),
            is_quiet: false,
            load: Settings::default(),
        };
        super::read(defaults, words.iter().map(OsString::from))
    }

    #[test]
    fn own_options_and_those_of_the_load_are_read_in_any_order() {
        let words =
            "--seconds 0.5 --name a none --quiet --pace-ms 20 --name=b --clients 3 --heavy mix --bench";
        let words: Vec<_> = words.split(' ').collect();
        let few = read(&words).unwrap().unwrap();
        assert_eq!((few.mode, few.is_quiet), ('n', true));
        assert_eq!(few.names, ["a", "b"]);
        assert_eq!(few.load.lasts, Duration::from_millis(500));
        assert_eq!(few.load.pace, Duration::from_millis(20));
        assert_eq!((few.load.clients, few.load.heavy.as_str()), (3, "mix"));
        assert_eq!((few.load.rounds, few.load.scale), (1, 1.0));
    }

    #[test]
    fn what_makes_no_sense_is_an_error_that_names_it() {
        for (words, named) in [
            (&["some"][..], "there is no mode `some`: all, none"),
            (&["--slow"], "there is no option `--slow`"),
            (&["--clients", "many"], "--clients"),
            (&["--seconds", "-1"], "--seconds"),
            (&["--pace-ms", "0"], "--pace-ms: a pace is more than 0"),
            (&["--name"], "--name"),
        ] {
            let error = format!("{:#}", read(words).unwrap_err());
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn the_usage_names_every_mode_and_option() {
        assert!(read(&["--help"]).unwrap().is_none());
        let usage = usage::<Few>();
        for name in ["a bench", "  none ", "--name NAME", "--quiet", "--pace-ms MS"] {
            assert!(usage.contains(name), "{usage}");
        }
    }
}
