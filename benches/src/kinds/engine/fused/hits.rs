//! The questions of ClickBench as loops by hand.
//!
//! Groups of many keys are found in two steps: each thread puts its rows' keys into parts by their
//! hashes, and then has each of its parts for itself.
//!
//! ```text
//!   rows     0 … n/2 ─► keys by part ─┐         ┌─► parts 0 … 31  ─► the best ten ─┐
//!        n/2 … n     ─► keys by part ─┴─ joined ┴─► parts 32 … 63 ─► the best ten ─┴─► ten
//! ```

use std::cmp::Reverse;
use std::hash::{BuildHasher as _, Hash};
use std::ops::Range;

use anyhow::{Result, bail};
use hashbrown::{DefaultHashBuilder, HashMap, HashSet};
use query::QueryResult;

use super::{Coded, Found, Loop, Texts, numbers, rows_with, split};

/// Parts of the keys: a part's groups fit a core's cache.
const PARTS: usize = 64;

/// Groups that a question asks for.
const BEST: usize = 10;

/// Days since 1970 of the first of July 2013, and of the first of August.
const JULY: Range<i64> = 15_887..15_918;

/// The counter that a question names.
const COUNTER: i64 = 62;

/// The loop for the question `name` over `rows`, which are of the columns that it reads.
pub(super) fn load(name: &str, rows: &QueryResult) -> Result<Loop> {
    let numbers = |column| numbers(rows, column);
    let few = |column| Coded::<i64>::encode(numbers(column)?);
    let regions = || Coded::<i64, u16>::encode(numbers("RegionID")?);
    let texts = |column| Texts::of(rows, column);
    Ok(match name {
        "1, count of a filter" => count_of_a_filter(few("AdvEngineID")?)?,
        "2, sum, count, avg of all rows" => all_rows(few("AdvEngineID")?, few("ResolutionWidth")?),
        "5, distinct phrases" => distinct(texts("SearchPhrase")?),
        "8, distinct users of a region" => users_of_regions(regions()?, numbers("UserID")?),
        "9, four aggregates of a region" => four_of_regions(
            regions()?,
            few("AdvEngineID")?,
            few("ResolutionWidth")?,
            numbers("UserID")?,
        ),
        "12, phrases" => phrases(texts("SearchPhrase")?),
        "15, users" => users(numbers("UserID")?),
        "16, users and phrases" => users_and_phrases(numbers("UserID")?, texts("SearchPhrase")?),
        "20, URLs like '%google%'" => like_google(texts("URL")?),
        "21, phrases of URLs like '%google%'" => phrases_like_google(texts("URL")?, texts("SearchPhrase")?),
        "33, URLs" => urls(texts("URL")?),
        "36, URLs of a counter" => urls_of_a_counter(
            Coded::<i64, u16>::encode(numbers("CounterID")?)?,
            [few("EventDate")?, few("DontCountHits")?, few("IsRefresh")?],
            texts("URL")?,
        )?,
        other => bail!("{other:?} has no loop by hand"),
    })
}

fn count_of_a_filter(engine: Coded<i64>) -> Result<Loop> {
    let none = engine.codes(0..1)?;
    Ok(Box::new(move |threads| {
        let parts = split(engine.rows.len(), threads, |rows| {
            let codes = engine.of(&rows).iter();
            codes.map(|code| u32::from(!none.contains(code))).sum::<u32>()
        });
        Found::row([f64::from(parts.iter().sum::<u32>())])
    }))
}

fn all_rows(engine: Coded<i64>, width: Coded<i64>) -> Loop {
    Box::new(move |threads| {
        let count = engine.rows.len();
        let parts = split(count, threads, |rows| {
            let (mut engines, mut widths) = (0, 0);
            for (engine_of, width_of) in engine.of(&rows).iter().zip(width.of(&rows)) {
                engines += engine.values[usize::from(*engine_of)];
                widths += width.values[usize::from(*width_of)];
            }
            [engines, widths]
        });
        let [engines, widths] = [0, 1].map(|at| parts.iter().map(|part| part[at]).sum::<i64>() as f64);
        Found::row([engines, count as f64, widths / count as f64])
    })
}

fn distinct(phrase: Texts) -> Loop {
    Box::new(move |threads| {
        let parts = by_parts(
            phrase.ends.len(),
            threads,
            |row| Some(phrase.text(row)),
            |keys| keys.collect::<HashSet<_>>().len(),
        );
        Found::row([parts.iter().sum::<usize>() as f64])
    })
}

fn users_of_regions(region: Coded<i64, u16>, user: Vec<i64>) -> Loop {
    Box::new(move |threads| {
        let counts = distinct_users(&region, &user, threads);
        let mut found = Found::of(0, 2);
        for (region_of, count) in best(counts.into_iter().enumerate()) {
            found.push([], [region.values[region_of] as f64, count as f64]);
        }
        found
    })
}

fn four_of_regions(region: Coded<i64, u16>, engine: Coded<i64>, width: Coded<i64>, user: Vec<i64>) -> Loop {
    Box::new(move |threads| {
        let parts = split(user.len(), threads, |rows| {
            let mut groups = vec![[0_i64; 3]; region.values.len()];
            let values = engine.of(&rows).iter().zip(width.of(&rows));
            for (region, (engine_of, width_of)) in region.of(&rows).iter().zip(values) {
                let [engines, count, widths] = &mut groups[usize::from(*region)];
                *engines += engine.values[usize::from(*engine_of)];
                *count += 1;
                *widths += width.values[usize::from(*width_of)];
            }
            groups
        });
        let users = distinct_users(&region, &user, threads);
        let sum = |region: usize, at: usize| parts.iter().map(|part| part[region][at]).sum::<i64>();
        let counts = (0..region.values.len()).map(|region| (region, sum(region, 1) as usize));
        let mut found = Found::of(0, 5);
        for (region_of, count) in best(counts) {
            let [engines, widths] = [0, 2].map(|at| sum(region_of, at) as f64);
            let (count, users) = (count as f64, users[region_of] as f64);
            found.push(
                [],
                [
                    region.values[region_of] as f64,
                    engines,
                    count,
                    widths / count,
                    users,
                ],
            );
        }
        found
    })
}

/// How many users each region has, by its code.
fn distinct_users(region: &Coded<i64, u16>, user: &[i64], threads: usize) -> Vec<usize> {
    let mut counts = vec![0; region.values.len()];
    let parts = by_parts(
        user.len(),
        threads,
        |row| Some((region.rows[row], user[row])),
        |keys| {
            let mut counts = vec![0_usize; region.values.len()];
            let pairs: HashSet<(u16, i64)> = keys.collect();
            pairs
                .iter()
                .for_each(|(region, _)| counts[usize::from(*region)] += 1);
            counts
        },
    );
    for part in parts {
        counts
            .iter_mut()
            .zip(part)
            .for_each(|(count, part)| *count += part);
    }
    counts
}

fn phrases(phrase: Texts) -> Loop {
    Box::new(move |threads| {
        let rows = phrase.ends.len();
        let found = best_of_parts(rows, threads, |row| {
            Some(phrase.text(row)).filter(|text| !text.is_empty())
        });
        of_texts(found)
    })
}

fn users(user: Vec<i64>) -> Loop {
    Box::new(move |threads| {
        let mut found = Found::of(0, 2);
        for (user, count) in best_of_parts(user.len(), threads, |row| Some(user[row])) {
            found.push([], [user as f64, count as f64]);
        }
        found
    })
}

fn users_and_phrases(user: Vec<i64>, phrase: Texts) -> Loop {
    Box::new(move |threads| {
        let mut found = Found::of(1, 2);
        let key = |row| Some((user[row], phrase.text(row)));
        for ((user, phrase), count) in best_of_parts(user.len(), threads, key) {
            found.push([&of_bytes(phrase)], [user as f64, count as f64]);
        }
        found.with_texts_second()
    })
}

fn like_google(url: Texts) -> Loop {
    Box::new(move |threads| {
        let parts = split(url.ends.len(), threads, |rows| {
            let mut count = 0;
            rows_with("google", &url, rows, |_row| count += 1);
            count
        });
        Found::row([f64::from(parts.iter().sum::<u32>())])
    })
}

fn phrases_like_google(url: Texts, phrase: Texts) -> Loop {
    Box::new(move |threads| {
        let parts = split(url.ends.len(), threads, |rows| {
            let mut groups: HashMap<&[u8], (&[u8], usize)> = HashMap::new();
            rows_with("google", &url, rows, |row| {
                if !phrase.text(row).is_empty() {
                    add(&mut groups, phrase.text(row), (url.text(row), 1));
                }
            });
            groups
        });
        let mut groups = HashMap::new();
        for (phrase, more) in parts.into_iter().flatten() {
            add(&mut groups, phrase, more);
        }
        let mut found = Found::of(2, 1);
        for (phrase, count) in best(groups.iter().map(|(phrase, (_, count))| (*phrase, *count))) {
            found.push([&of_bytes(phrase), &of_bytes(groups[phrase].0)], [count as f64]);
        }
        found
    })
}

/// Adds rows of a phrase: their least URL and how many they are.
fn add<'t>(
    groups: &mut HashMap<&'t [u8], (&'t [u8], usize)>,
    phrase: &'t [u8],
    (url, rows): (&'t [u8], usize),
) {
    let (least, count) = groups.entry(phrase).or_insert((url, 0));
    *least = url.min(least);
    *count += rows;
}

fn urls(url: Texts) -> Loop {
    Box::new(move |threads| of_texts(best_of_parts(url.ends.len(), threads, |row| Some(url.text(row)))))
}

fn urls_of_a_counter(
    counter: Coded<i64, u16>,
    [day, uncounted, refresh]: [Coded<i64>; 3],
    url: Texts,
) -> Result<Loop> {
    let counters = counter.codes(COUNTER..COUNTER + 1)?;
    let days = day.codes(JULY)?;
    let (counted, first) = (uncounted.codes(0..1)?, refresh.codes(0..1)?);
    Ok(Box::new(move |threads| {
        let key = |row: usize| {
            let is_kept = counters.contains(&counter.rows[row])
                && days.contains(&day.rows[row])
                && counted.contains(&uncounted.rows[row])
                && first.contains(&refresh.rows[row]);
            is_kept.then(|| url.text(row)).filter(|text| !text.is_empty())
        };
        of_texts(best_of_parts(url.ends.len(), threads, key))
    }))
}

/// The keys that most rows have, and how many have them.
fn best_of_parts<K: Hash + Ord + Copy + Send + Sync>(
    rows: usize,
    threads: usize,
    key: impl Fn(usize) -> Option<K> + Sync,
) -> Vec<(K, usize)> {
    let parts = by_parts(rows, threads, key, |keys| {
        let mut counts: HashMap<K, usize> = HashMap::new();
        keys.for_each(|key| *counts.entry(key).or_default() += 1);
        best(counts.into_iter())
    });
    best(parts.into_iter().flatten())
}

/// What `of_part` makes of the keys of each part. A row without a key is in none.
fn by_parts<K: Hash + Copy + Send + Sync, T: Send>(
    rows: usize,
    threads: usize,
    key: impl Fn(usize) -> Option<K> + Sync,
    of_part: impl Fn(&mut dyn Iterator<Item = K>) -> T + Sync,
) -> Vec<T> {
    let hashes = DefaultHashBuilder::default();
    let shares = split(rows, threads, |rows| {
        let mut parts: Vec<Vec<K>> = vec![Vec::new(); PARTS];
        for key in rows.filter_map(&key) {
            let top = hashes.hash_one(key) >> (u64::BITS - PARTS.ilog2());
            parts[top as usize].push(key);
        }
        parts
    });
    let of_parts = split(PARTS, threads, |parts| {
        let keys = |part: usize| shares.iter().flat_map(move |share| share[part].iter().copied());
        parts.map(|part| of_part(&mut keys(part))).collect::<Vec<T>>()
    });
    of_parts.into_iter().flatten().collect()
}

/// The greatest counts, and of equal ones those of the least keys.
fn best<K: Ord + Copy>(counts: impl Iterator<Item = (K, usize)>) -> Vec<(K, usize)> {
    let mut best: Vec<(K, usize)> = Vec::new();
    let rank = |&(key, count): &(K, usize)| (Reverse(count), key);
    for group in counts {
        if best.len() == BEST && best.last().is_some_and(|last| rank(last) < rank(&group)) {
            continue;
        }
        let place = best.partition_point(|known| rank(known) < rank(&group));
        best.insert(place, group);
        best.truncate(BEST);
    }
    best
}

fn of_texts(groups: Vec<(&[u8], usize)>) -> Found {
    let mut found = Found::of(1, 1);
    for (text, count) in groups {
        found.push([&of_bytes(text)], [count as f64]);
    }
    found
}

fn of_bytes(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
