//! A scan of one file after another by hand: pieces as the machinery cuts them, one at a time.

use scan::encoding::{Converter, Encoding};
use scan::engine::{Engine, Found, Piece, Unit};
use scan::object::Object;
use scan::output::{Findings, More, Output, ReadAt};
use scan::pattern::{PatternConfig, PatternEngine};
use scan::print::{PrintConfig, Printer};

pub(crate) struct Scan {
    engine: PatternEngine,
    printer: Printer,
    chunk: usize,
    pub(crate) out: Vec<u8>,
}

impl Scan {
    pub(crate) fn new(pattern: &PatternConfig, print: &PrintConfig, chunk: usize) -> Self {
        let (engine, printer) = Printer::new(pattern, print.clone()).expect("the patterns are right");
        Self {
            engine,
            printer,
            chunk,
            out: Vec::new(),
        }
    }

    pub(crate) fn file(&mut self, object: &Object, bytes: &[u8]) -> Findings {
        let text = text(bytes);
        let mut source = &text[..];
        let mut scratch = self.engine.scratch();
        let (mut found, mut out) = (Found::default(), Vec::new());
        let mut file = self.printer.begin(object);
        let pieces = pieces(&text, self.engine.unit(), self.chunk);
        for (nth, &(start, end)) in pieces.iter().enumerate() {
            found.clear();
            let piece = Piece {
                bytes: &text[start..end],
                offset: start as u64,
                named: object.named,
                last: nth + 1 == pieces.len(),
            };
            self.engine.scan(piece, &mut scratch, &mut found);
            let more = self
                .printer
                .piece(&mut file, object, &found, &mut source, &mut out)
                .expect("it is memory");
            if more == More::Enough || found.nul.is_some() {
                break;
            }
        }
        let findings = self
            .printer
            .end(file, object, &mut source, &mut out)
            .expect("it is memory");
        let is_first = self.out.is_empty();
        let separator = self.printer.separator();
        let own = out.strip_prefix(separator).filter(|_| is_first).unwrap_or(&out);
        self.out.extend_from_slice(own);
        findings
    }
}

/// A chunk owns the lines that begin after a newline in it.
fn pieces(text: &[u8], unit: Unit, chunk: usize) -> Vec<(usize, usize)> {
    if matches!(unit, Unit::Whole { .. }) {
        return vec![(0, text.len())];
    }
    let mut cuts = vec![0];
    for at in (chunk..text.len()).step_by(chunk) {
        let start = text[at..]
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(text.len(), |end| at + end + 1);
        if start > cuts[cuts.len() - 1] {
            cuts.push(start);
        }
    }
    if cuts[cuts.len() - 1] < text.len() {
        cuts.push(text.len());
    }
    cuts.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

fn text(bytes: &[u8]) -> Vec<u8> {
    let mut converter = Converter::new(Encoding::of(bytes));
    let mut source = bytes;
    let mut text = vec![0; 3 * bytes.len() + 16];
    let len = converter
        .of(&mut source)
        .read_at(0, &mut text)
        .expect("it is memory");
    text.truncate(len);
    text
}
