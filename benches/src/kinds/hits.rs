//! A table like `hits` of ClickBench: page views, with its names of columns, wide rows and skew.
//!
//! Rows come by counter and time. Hosts, pages, users, regions and phrases follow Zipf's law; most
//! phrases, phones and advertisers are empty. The columns that no question reads are numbers, most
//! of them 0.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow::array::{ArrayRef, Date32Array, Int32Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::random::Random;

const SEED: u64 = 62;
/// Rows written at once.
const BATCH_ROWS: usize = 113_743;

/// Seconds since 1970 of the first of July 2013, and seconds in that month.
const JULY: u64 = 1_372_636_800;
const JULY_SECONDS: u64 = 31 * DAY_SECONDS;
const DAY_SECONDS: u64 = 86_400;

/// Counters of sites. The largest comes first.
const COUNTERS: u64 = 6_000;
/// The number of the largest counter: so that 62, which a question names, has 0.7 % of the rows.
const COUNTER_FIRST: u64 = 47;
const REGIONS: u64 = 9_000;
const PHONES: u64 = 160;
/// Rows for each user, page and phrase that there may be.
const ROWS_PER_USER: usize = 5;
const ROWS_PER_PAGE: usize = 4;
const ROWS_PER_PHRASE: usize = 12;

const WIDTHS: [i32; 12] = [
    0, 1_024, 1_280, 1_366, 1_366, 1_366, 1_440, 1_600, 1_638, 1_680, 1_750, 1_920,
];
const WORDS: [&str; 32] = [
    "auto", "avito", "bank", "bilet", "cena", "chasy", "dacha", "detskie", "dom", "film", "foto", "igry",
    "karta", "kino", "kupit", "mebel", "mody", "moskva", "novosti", "obuv", "online", "otzyvy", "pogoda",
    "rabota", "recept", "remont", "samsung", "skachat", "smotret", "tury", "video", "yandex",
];

/// Columns that no question reads.
const OTHERS: [&str; 78] = [
    "JavaEnable",
    "GoodEvent",
    "ClientIP",
    "CounterClass",
    "OS",
    "UserAgent",
    "RefererCategoryID",
    "RefererRegionID",
    "URLCategoryID",
    "URLRegionID",
    "ResolutionHeight",
    "ResolutionDepth",
    "FlashMajor",
    "FlashMinor",
    "NetMajor",
    "NetMinor",
    "UserAgentMajor",
    "CookieEnable",
    "JavascriptEnable",
    "IsMobile",
    "MobilePhone",
    "IPNetworkID",
    "TraficSourceID",
    "WindowClientWidth",
    "WindowClientHeight",
    "ClientTimeZone",
    "SilverlightVersion1",
    "SilverlightVersion2",
    "SilverlightVersion3",
    "SilverlightVersion4",
    "CodeVersion",
    "IsLink",
    "IsDownload",
    "IsNotBounce",
    "FUniqID",
    "HID",
    "IsOldCounter",
    "IsEvent",
    "IsParameter",
    "WithHash",
    "LocalEventTime",
    "Age",
    "Sex",
    "Income",
    "Interests",
    "Robotness",
    "RemoteIP",
    "WindowName",
    "OpenerName",
    "HistoryLength",
    "HTTPError",
    "SendTiming",
    "DNSTiming",
    "ConnectTiming",
    "ResponseStartTiming",
    "ResponseEndTiming",
    "FetchTiming",
    "SocialSourceNetworkID",
    "ParamPrice",
    "ParamCurrencyID",
    "HasGCLID",
    "RefererHash",
    "URLHash",
    "CLID",
    "OriginalURLHash",
    "ParamOrderID",
    "OpenstatServiceName",
    "OpenstatCampaignID",
    "OpenstatAdID",
    "OpenstatSourceID",
    "UTMSource",
    "UTMMedium",
    "UTMCampaign",
    "UTMContent",
    "UTMTerm",
    "FromTag",
    "SocialNetwork",
    "SocialAction",
];
/// Values of such a column for each that is not 0.
const RARITY: u64 = 20;

/// Writes `rows` rows.
pub(super) fn write(rows: usize, properties: WriterProperties, path: &Path) -> Result<()> {
    let mut random = Random::new(SEED);
    let mut views: Vec<(u64, u64)> = (0..rows)
        .map(|_| {
            (
                COUNTER_FIRST + random.rank(COUNTERS),
                JULY + random.below(JULY_SECONDS),
            )
        })
        .collect();
    views.sort_unstable();
    let mut writer = None;
    for views in views.chunks(BATCH_ROWS) {
        let batch = batch(views, rows, &mut random)?;
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(ArrowWriter::try_new(
                File::create(path)?,
                batch.schema(),
                Some(properties.clone()),
            )?),
        };
        writer.write(&batch)?;
    }
    if let Some(writer) = writer {
        writer.close()?;
    }
    Ok(())
}

fn batch(views: &[(u64, u64)], rows: usize, random: &mut Random) -> Result<RecordBatch> {
    let share = |part: usize| (rows / part).max(1) as u64;
    let days = views.iter().map(|(_, second)| (second / DAY_SECONDS) as i32);
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("WatchID", longs(views, |_| random.next() as i64 >> 1)),
        ("EventDate", Arc::new(Date32Array::from_iter_values(days))),
        ("EventTime", longs(views, |view| view.1 as i64)),
        ("CounterID", numbers(views, |view| view.0 as i32)),
        ("RegionID", numbers(views, |_| random.rank(REGIONS) as i32)),
        (
            "UserID",
            longs(views, |_| {
                hashed(random.rank(share(ROWS_PER_USER))).next() as i64 >> 1
            }),
        ),
        (
            "Title",
            texts(views, |view| {
                if random.below(5) == 0 {
                    return String::new();
                }
                phrase(
                    &mut hashed(view.0 << 32 | random.rank(share(ROWS_PER_PAGE))),
                    6..18,
                )
            }),
        ),
        (
            "URL",
            texts(views, |view| {
                url(view.0, random.rank(share(ROWS_PER_PAGE)), random)
            }),
        ),
        (
            "Referer",
            texts(views, |_| match random.below(5) {
                0 => String::new(),
                _ => {
                    let host = COUNTER_FIRST + random.rank(COUNTERS);
                    url(host, random.rank(share(ROWS_PER_PAGE)), random)
                }
            }),
        ),
        (
            "SearchPhrase",
            texts(views, |_| match random.below(8) {
                0 => phrase(&mut hashed(random.rank(share(ROWS_PER_PHRASE))), 1..6),
                _ => String::new(),
            }),
        ),
        (
            "MobilePhoneModel",
            texts(views, |_| match random.below(18) {
                0 => format!("model {}", random.rank(PHONES)),
                _ => String::new(),
            }),
        ),
        (
            "SearchEngineID",
            numbers(views, |_| match random.below(6) {
                0 => 1 + random.rank(90) as i32,
                _ => 0,
            }),
        ),
        (
            "AdvEngineID",
            numbers(views, |_| match random.below(160) {
                0 => 1 + random.rank(60) as i32,
                _ => 0,
            }),
        ),
        ("ResolutionWidth", numbers(views, |_| *random.pick(&WIDTHS))),
        ("IsRefresh", numbers(views, |_| i32::from(random.below(7) == 0))),
        (
            "DontCountHits",
            numbers(views, |_| i32::from(random.below(20) == 0)),
        ),
    ];
    for name in OTHERS {
        let other = numbers(views, |_| match random.below(RARITY) {
            0 => random.rank(1 << 20) as i32,
            _ => 0,
        });
        columns.push((name, other));
    }
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn numbers(views: &[(u64, u64)], value: impl FnMut(&(u64, u64)) -> i32) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(views.iter().map(value)))
}

fn longs(views: &[(u64, u64)], value: impl FnMut(&(u64, u64)) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(views.iter().map(value)))
}

fn texts(views: &[(u64, u64)], value: impl FnMut(&(u64, u64)) -> String) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(views.iter().map(value)))
}

/// Numbers that depend on `rank` alone.
fn hashed(rank: u64) -> Random {
    Random::new(Random::new(rank).next())
}

/// The address of a page of a site. Few come from a search engine by name.
fn url(host: u64, page: u64, random: &mut Random) -> String {
    let mut of_host = hashed(host);
    let (first, second) = (of_host.pick(&WORDS), of_host.pick(&WORDS));
    let mut of_page = hashed(host << 32 | page);
    let path = phrase(&mut of_page, 1..5).replace(' ', "/");
    let number = of_page.below(10_000_000);
    let from = if random.below(3_000) == 0 {
        "&from=google"
    } else {
        ""
    };
    format!(
        "http://{first}-{second}{host}.ru/{path}/{number}.html?lr={}{from}",
        host % 200
    )
}

fn phrase(random: &mut Random, words: std::ops::Range<u64>) -> String {
    let count = words.start + random.below(words.end - words.start);
    let words: Vec<&str> = (0..count).map(|_| *random.pick(&WORDS)).collect();
    words.join(" ")
}
