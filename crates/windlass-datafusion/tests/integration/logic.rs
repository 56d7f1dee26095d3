//! DataFusion's own SQL tests give the same with windlass as without.

use std::path::{Path, PathBuf};

use datafusion::error::DataFusionError;
use datafusion::prelude::{SessionConfig, SessionContext};
use sqllogictest::{DefaultColumnType, QueryExpect, Record, SortMode};

use crate::engine::{Engine, Operators, Ours, Plain, block_on_many_threads};
use crate::rows::Rows;

/// As in DataFusion's own runner of these files.
const PARTITIONS: usize = 4;

/// Per cent of statements that must succeed; others need features that this build lacks.
const ANSWERED: usize = 75;

const EXHAUSTED: &str = "resources exhausted";

type End = Result<Vec<String>, String>;

/// A statement, and whether the order of its rows is undefined.
struct Statement {
    sql: String,
    unordered: bool,
}

fn statements(file: &Path) -> Vec<Statement> {
    let records = sqllogictest::parse_file::<DefaultColumnType>(file);
    let records = records.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let statement = |record| match record {
        Record::Statement { sql, .. } => Some(Statement {
            sql,
            unordered: false,
        }),
        Record::Query { sql, expected, .. } => {
            let unordered = matches!(
                expected,
                QueryExpect::Results {
                    sort_mode: Some(SortMode::RowSort | SortMode::ValueSort),
                    ..
                }
            );
            Some(Statement { sql, unordered })
        }
        _ => None,
    };
    records.into_iter().filter_map(statement).collect()
}

async fn end(session: &SessionContext, statement: &Statement) -> End {
    let frame = session.sql(&statement.sql).await;
    let frame = frame.map_err(text)?;
    let batches = frame.collect().await.map_err(text)?;
    if is_about_time(&statement.sql) {
        return Ok(Vec::new());
    }
    let mut rows = Rows::from(batches).text();
    if statement.unordered {
        rows.sort_unstable();
    }
    Ok(rows)
}

fn text(error: DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => EXHAUSTED.to_owned(),
        _ => {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().to_owned()
        }
    }
}

fn is_about_time(sql: &str) -> bool {
    first_words(sql) == ["EXPLAIN", "ANALYZE"]
}

fn shows_a_plan(sql: &str) -> bool {
    first_words(sql)[0] == "EXPLAIN"
}

fn first_words(sql: &str) -> [String; 2] {
    let mut words = sql.split_whitespace();
    [words.next(), words.next()].map(|word| word.unwrap_or_default().to_uppercase())
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logic");
    let entries = folder.read_dir().expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "slt"))
        .collect();
    files.sort_unstable();
    files
}

#[test]
fn sql_by_which_datafusion_tests_itself_gives_what_it_gives_without_windlass() {
    let (ours, operators) = (Ours::with_workers(2), Operators::with_workers(2));
    block_on_many_threads(async {
        for file in files() {
            let engines: [&dyn Fn(SessionConfig) -> SessionContext; 3] = [
                &|config| Plain.session_with(config),
                &|config| ours.session_with(config),
                &|config| operators.session_with(config),
            ];
            let config = SessionConfig::new()
                .with_target_partitions(PARTITIONS)
                .with_information_schema(true);
            let [plain, ours, operators] = engines.map(|engine| engine(config.clone()));
            let statements = statements(&file);
            let mut answered = 0;
            for statement in &statements {
                let expected = end(&plain, statement).await;
                let found = end(&ours, statement).await;
                // Partitions share a file's memory limit, so chance decides whether it suffices.
                let exhausted = Err(EXHAUSTED.to_owned());
                if expected != exhausted && found != exhausted {
                    assert_eq!(expected, found, "{}: {}", file.display(), statement.sql);
                }
                answered += usize::from(found.is_ok());
                let found = end(&operators, statement).await;
                if expected != exhausted && found != exhausted && !shows_a_plan(&statement.sql) {
                    assert_eq!(
                        expected,
                        found,
                        "{} by operators: {}",
                        file.display(),
                        statement.sql
                    );
                }
            }
            assert!(
                answered * 100 >= statements.len() * ANSWERED,
                "{}: {answered} of {} statements have an answer",
                file.display(),
                statements.len()
            );
        }
    });
}
