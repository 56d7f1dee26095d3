//! A picture per engine of the polls on each thread while a short query runs beside heavy ones.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::runtime::{Handle, Runtime};

use crate::engine::Engine;
use crate::heavy::HeavyClients;
use crate::options::Options;
use crate::queries::SHORT;
use crate::recorder::{Piece, Recorder};
use crate::tables::Tables;

const WARM_UP: Duration = Duration::from_millis(700);

const DRAWN_MS: f64 = 250.0;

/// Pieces of a query on a thread that are closer are drawn as one.
const GAP_MS: f64 = 0.05;

const LEFT: f64 = 74.0;
const WIDTH: f64 = 900.0;
const LANE: f64 = 20.0;
const HEAD: f64 = 30.0;

const HEAVY: [&str; 8] = [
    "#9fb8cf", "#7f9fbd", "#b9c9d6", "#8fa7b3", "#a8bfae", "#8aa9a0", "#c3c9b4", "#9aa6c4",
];
const SHORT_COLOUR: &str = "#d1410c";

struct Panel {
    name: &'static str,
    start: Instant,
    pieces: Vec<Piece>,
    shorts: Vec<(Instant, Instant)>,
}

pub(crate) fn run(options: &Options, tables: &Tables, runtime: &Runtime) -> anyhow::Result<()> {
    let out = options.out.as_ref().context("`--out FILE` is missing")?;
    let recorder = Recorder::install()?;
    let mut panels = Vec::new();
    for &kind in &options.engines {
        let engine = runtime.block_on(Engine::new(kind, tables, options.main, options.spares))?;
        let mut panel = runtime.block_on(record(&engine, options, &recorder))?;
        panel.name = kind.name();
        panels.push(panel);
    }
    fs::write(out, draw(options, &panels))?;
    Ok(())
}

async fn record(engine: &Engine, options: &Options, recorder: &Recorder) -> anyhow::Result<Panel> {
    engine.query(SHORT).await?;
    recorder.forget();
    let start = Instant::now() + WARM_UP;
    let end = start + Duration::from_secs_f64(DRAWN_MS / 1e3);
    let asked = (engine.clone(), recorder.clone());
    let heavies = HeavyClients::start(options, &Handle::current(), move |client, sql| {
        let (engine, recorder) = asked.clone();
        async move {
            let query = recorder.query(client + 1, engine.plain_query(sql));
            engine.run(query).await
        }
    })?;
    let mut due = start;
    let mut asked = Vec::new();
    while due < end {
        tokio::time::sleep_until(due.into()).await;
        let (engine, recorder) = (engine.clone(), recorder.clone());
        asked.push(tokio::spawn(async move {
            engine.run(recorder.query(0, engine.plain_query(SHORT))).await?;
            anyhow::Ok((due, Instant::now()))
        }));
        due += options.load.pace;
    }
    let mut shorts = Vec::new();
    for short in asked {
        shorts.push(short.await??);
    }
    heavies.stop().await?;
    Ok(Panel {
        name: "",
        start,
        pieces: recorder.pieces(),
        shorts,
    })
}

fn draw(options: &Options, panels: &[Panel]) -> String {
    let mut body = String::new();
    let mut top = 0.0;
    for panel in panels {
        top = panel.draw(options, top, &mut body);
    }
    let width = LEFT + WIDTH + 10.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {top}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{top}\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

impl Panel {
    fn ms(&self, at: Instant) -> f64 {
        let after = at.saturating_duration_since(self.start).as_secs_f64();
        let before = self.start.saturating_duration_since(at).as_secs_f64();
        (after - before) * 1e3
    }

    /// Returns pieces as (query, began, ended); close ones of a query are merged.
    fn lanes(&self) -> Vec<Vec<(usize, f64, f64)>> {
        let mut threads = Vec::new();
        let mut lanes: Vec<Vec<(usize, f64, f64)>> = Vec::new();
        let mut pieces = self.pieces.clone();
        pieces.sort_unstable_by_key(|piece| piece.began);
        for piece in pieces {
            let (began, ended) = (self.ms(piece.began).max(0.0), self.ms(piece.ended).min(DRAWN_MS));
            if ended <= began {
                continue;
            }
            let known = threads.iter().position(|thread| *thread == piece.thread);
            let lane = known.unwrap_or_else(|| {
                threads.push(piece.thread);
                lanes.push(Vec::new());
                threads.len() - 1
            });
            match lanes[lane].last_mut() {
                Some((query, _, until)) if *query == piece.query && began - *until < GAP_MS => {
                    *until = until.max(ended);
                }
                _ => lanes[lane].push((piece.query, began, ended)),
            }
        }
        lanes
    }

    fn draw(&self, options: &Options, top: f64, body: &mut String) -> f64 {
        let x = |ms: f64| LEFT + ms / DRAWN_MS * WIDTH;
        let title = match self.name {
            "windlass" => "DataFusion on windlass",
            "plain" => "DataFusion",
            other => other,
        };
        let mut line = |text: std::fmt::Arguments<'_>| writeln!(body, "{text}").expect("a string takes all");
        let base = top + 16.0;
        line(format_args!(
            "<text x=\"4\" y=\"{base}\" font-weight=\"bold\">{title}: a short query every {} ms beside {} clients with {}</text>",
            options.load.pace.as_millis(),
            options.load.clients,
            options.load.heavy.to_uppercase()
        ));
        let mut y = top + HEAD;
        line(format_args!(
            "<text x=\"4\" y=\"{}\">short queries</text>",
            y + 12.0
        ));
        let mut free = vec![0.0_f64];
        for &(due, answered) in &self.shorts {
            let (due, ms) = (self.ms(due), self.ms(answered) - self.ms(due));
            let until = due + ms.max(DRAWN_MS / 12.0);
            let row = free.iter().position(|free| *free <= due).unwrap_or(free.len());
            free.resize(free.len().max(row + 1), 0.0);
            free[row] = until;
            let (from, to) = (x(due), x((due + ms).min(DRAWN_MS)));
            let at = y + row as f64 * 14.0;
            line(format_args!(
                "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"9\" fill=\"none\" stroke=\"{SHORT_COLOUR}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{SHORT_COLOUR}\">{ms:.1} ms</text>",
                at + 3.0,
                (to - from).max(1.0),
                from + 3.0,
                at + 12.0
            ));
        }
        y += free.len() as f64 * 14.0 + 6.0;
        for (number, lane) in self.lanes().iter().enumerate() {
            line(format_args!(
                "<text x=\"4\" y=\"{:.1}\">thread {}</text>",
                y + 13.0,
                number + 1
            ));
            for &(query, began, ended) in lane {
                let colour = match query {
                    0 => SHORT_COLOUR,
                    client => HEAVY[(client - 1) % HEAVY.len()],
                };
                line(format_args!(
                    "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{}\" fill=\"{colour}\"/>",
                    x(began),
                    x(ended) - x(began),
                    LANE - 3.0
                ));
            }
            y += LANE;
        }
        for tick in (0..=DRAWN_MS as u32).step_by(50) {
            let at = x(f64::from(tick));
            line(format_args!(
                "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#666\">{tick} ms</text>",
                y + 12.0
            ));
        }
        y + 24.0
    }
}
