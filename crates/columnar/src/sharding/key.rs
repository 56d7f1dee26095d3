//! The columns by which a plan with several groupings splits its rows.

/// The columns that decide a row's partition, chosen once for all groupings of a plan. A grouping
/// whose keys contain them finds its groups complete in a partition, and needs no new split.
///
/// ```
/// use columnar::sharding::ShardKey;
///
/// // First by (flag, supplier), then by flag: flag is in both, so rows are split once.
/// let key = ShardKey::choose(None, None, &[vec![8, 2], vec![8]]);
/// assert_eq!(key.columns(), [8]);
/// assert!(key.keeps(&[8, 2]) && key.keeps(&[8]));
/// // A query may say otherwise than its table, and that stays for all its levels.
/// assert_eq!(ShardKey::choose(Some(&[2]), Some(&[8]), &[vec![8, 2]]).columns(), [8]);
/// // Nothing in common: each grouping is split by its own keys.
/// assert!(ShardKey::choose(None, None, &[vec![1], vec![2]]).columns().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardKey {
    columns: Vec<usize>,
}

impl ShardKey {
    /// The query's columns, else its table's, else those that all `groupings` share, which may be
    /// none.
    #[must_use]
    pub fn choose(declared: Option<&[usize]>, said: Option<&[usize]>, groupings: &[Vec<usize>]) -> Self {
        let in_common = || {
            let (first, others) = groupings.split_first()?;
            let in_all = |column: &&usize| others.iter().all(|keys| keys.contains(column));
            Some(first.iter().filter(in_all).copied().collect())
        };
        let columns = match said.or(declared) {
            Some(columns) => columns.to_vec(),
            None => in_common().unwrap_or_default(),
        };
        Self { columns }
    }

    /// The columns. Without columns, a grouping is split by all its keys.
    #[must_use]
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Whether rows with equal values in `grouping` always share a partition.
    #[must_use]
    pub fn keeps(&self, grouping: &[usize]) -> bool {
        !self.columns.is_empty() && self.columns.iter().all(|column| grouping.contains(column))
    }
}
