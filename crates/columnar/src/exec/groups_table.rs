//! The groups of a scan as the table of the scan above it.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::groups::Shard;
use crate::table::{MorselReader, ReadError, TableSource};

/// Each shard with a group is a morsel, which nothing cuts: it is about as large as a core's cache.
/// The last column holds each group's first row.
pub(super) struct GroupsTable {
    name: String,
    schema: SchemaRef,
    shards: Vec<Arc<Shard>>,
}

impl GroupsTable {
    /// `schema` is that of the groups.
    pub(super) fn new(name: &str, schema: &Schema, shards: Vec<Arc<Shard>>) -> Self {
        let firsts = Arc::new(Field::new("first row", DataType::UInt64, false));
        let fields: Vec<_> = schema.fields().iter().cloned().chain([firsts]).collect();
        Self {
            name: name.to_owned(),
            schema: Arc::new(Schema::new(fields)),
            shards: shards
                .into_iter()
                .filter(|shard| !shard.firsts.is_empty())
                .collect(),
        }
    }

    pub(super) fn firsts(&self) -> usize {
        self.schema.fields().len() - 1
    }
}

impl TableSource for GroupsTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn morsels(&self) -> usize {
        self.shards.len()
    }

    fn rows(&self, morsel: usize) -> usize {
        self.shards[morsel].firsts.len()
    }

    fn open(&self, morsel: usize, _projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        Ok(Box::new(ShardReader {
            shard: &self.shards[morsel],
            firsts: self.firsts(),
        }))
    }
}

struct ShardReader<'a> {
    shard: &'a Shard,
    firsts: usize,
}

impl MorselReader for ShardReader<'_> {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        Ok(match column == self.firsts {
            true => Arc::new(UInt64Array::from(self.shard.firsts.clone())),
            false => Arc::clone(&self.shard.columns[column]),
        })
    }
}

impl fmt::Debug for GroupsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupsTable")
            .field("name", &self.name)
            .field("shards", &self.shards.len())
            .finish_non_exhaustive()
    }
}
