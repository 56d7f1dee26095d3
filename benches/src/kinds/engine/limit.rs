//! What bounds a query, each on a number of threads: a loop by hand over its columns, a copy of
//! them in memory, and the pages of them in the file, read and decompressed.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use arrow::array::Array as _;
use arrow::buffer::Buffer;
use columnar::{MemoryTable, TableSource as _};
use cpu_time::ProcessTime;
use parquet::file::reader::FileReader as _;
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedFileReader};
use query::Session;
use query::pipeline_exec::PipelineExecutor;

use super::{Measured, Question, Workload, fused, loaded};

pub(super) fn by_hand(workload: &Workload, threads: usize) -> Result<Measured> {
    let Single {
        question,
        name,
        session,
        columns,
        ..
    } = Single::of(workload)?;
    let schema = session.tables().get(name).context("it was opened")?.schema();
    let read: Vec<&str> = columns
        .iter()
        .map(|at| schema.field(*at).name().as_str())
        .collect();
    let select = format!("select {} from {name}", read.join(", "));
    let by_hand = fused::load(&question.name, &session.sql(&select)?.run()?.rows)?;
    repeated(
        workload.each,
        || by_hand(threads),
        |found| question.answer.verify(&found.answer()),
    )
}

pub(super) fn copied(workload: &Workload, threads: usize) -> Result<Measured> {
    let Single {
        name, path, columns, ..
    } = Single::of(workload)?;
    let mut copying = Copying::new(&loaded(name, path)?, &columns, threads)?;
    repeated(workload.each, || copying.run(), Ok)
}

pub(super) fn decompressed(workload: &Workload, threads: usize) -> Result<Measured> {
    let Single { path, columns, .. } = Single::of(workload)?;
    let files = open_all(path, threads)?;
    repeated(
        workload.each,
        || decompress(&files, &columns),
        |bytes| bytes.map(drop),
    )
}

/// Runs behind one that is not counted.
fn repeated<T>(
    runs: usize,
    mut run: impl FnMut() -> T,
    verify: impl Fn(T) -> Result<()>,
) -> Result<Measured> {
    verify(run())?;
    let (mut times, mut used) = (Vec::new(), Duration::ZERO);
    for _ in 0..runs {
        let (start, cpu) = (Instant::now(), ProcessTime::now());
        let answer = run();
        times.push(start.elapsed());
        used += cpu.elapsed();
        verify(answer)?;
    }
    Ok(Measured {
        wall: times.iter().sum(),
        times,
        cpu: used,
    })
}

/// The only question of a workload, its table, and the columns that it reads.
struct Single<'a> {
    question: &'a Question,
    name: &'a str,
    path: &'a Path,
    session: Session,
    columns: Vec<usize>,
}

impl<'a> Single<'a> {
    fn of(workload: &'a Workload) -> Result<Self> {
        let mut tables = workload.tables.iter();
        let ([question], Some((name, path)), None) =
            (workload.questions.as_slice(), tables.next(), tables.next())
        else {
            bail!("a limit is one of a single question over a single table");
        };
        let mut session = Session::new(PipelineExecutor::new(1)?);
        session.open(name, path)?;
        let columns = session.sql(&question.sql)?.plan().columns();
        Ok(Self {
            question,
            name,
            path,
            session,
            columns,
        })
    }
}

/// The bytes of columns, and as much memory to copy them to.
struct Copying {
    shares: Vec<Share>,
}

#[derive(Default)]
struct Share {
    bytes: usize,
    from: Vec<Buffer>,
    to: Vec<Vec<u8>>,
}

impl Copying {
    /// Shares of about as many bytes for each of `threads`.
    fn new(table: &MemoryTable, columns: &[usize], threads: usize) -> Result<Self> {
        let mut shares: Vec<Share> = Vec::new();
        shares.resize_with(threads, Share::default);
        for buffer in buffers(table, columns)? {
            let smallest = shares.iter_mut().min_by_key(|share| share.bytes);
            let share = smallest.context("copies need a thread")?;
            share.bytes += buffer.len();
            share.to.push(vec![0; buffer.len()]);
            share.from.push(buffer);
        }
        Ok(Self { shares })
    }

    fn run(&mut self) {
        thread::scope(|scope| {
            for share in &mut self.shares {
                scope.spawn(|| {
                    let pairs = share.from.iter().zip(&mut share.to);
                    pairs.for_each(|(from, to)| to.copy_from_slice(from));
                });
            }
        });
    }
}

/// The buffers that hold these columns, each once.
fn buffers(table: &MemoryTable, columns: &[usize]) -> Result<Vec<Buffer>> {
    let mut known = HashSet::new();
    let mut buffers = Vec::new();
    for morsel in 0..table.morsels() {
        let mut reader = table.open(morsel, columns)?;
        for &column in columns {
            let data = match reader.codes(column)? {
                Some(codes) => codes.rows().to_data(),
                None => reader.column(column)?.to_data(),
            };
            let new = data
                .buffers()
                .iter()
                .filter(|buffer| known.insert(buffer.as_ptr()));
            buffers.extend(new.cloned());
        }
    }
    Ok(buffers)
}

/// The file, opened by each thread: copies of a handle would share its position.
fn open_all(path: &Path, threads: usize) -> Result<Vec<SerializedFileReader<File>>> {
    let open = || {
        let options = ReadOptionsBuilder::new().with_page_index().build();
        Ok(SerializedFileReader::new_with_options(
            File::open(path)?,
            options,
        )?)
    };
    (0..threads).map(|_| open()).collect()
}

/// Reads and decompresses all pages of these columns, and returns their bytes. Each thread takes its
/// share of the row groups.
fn decompress(files: &[SerializedFileReader<File>], columns: &[usize]) -> Result<usize> {
    thread::scope(|scope| {
        let share = |thread: usize| -> Result<usize> {
            let mut bytes = 0;
            for group in (thread..files[thread].num_row_groups()).step_by(files.len()) {
                let group = files[thread].get_row_group(group)?;
                for &column in columns {
                    let mut pages = group.get_column_page_reader(column)?;
                    while let Some(page) = pages.get_next_page()? {
                        bytes += page.buffer().len();
                    }
                }
            }
            Ok(bytes)
        };
        let threads = 0..files.len();
        let running: Vec<_> = threads.map(|thread| scope.spawn(move || share(thread))).collect();
        let joined = running.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .map(|bytes| bytes.map_err(|_panic| anyhow!("a reader panicked"))?)
            .sum()
    })
}
