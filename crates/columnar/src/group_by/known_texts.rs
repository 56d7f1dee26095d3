//! The numbers of the texts that a column's codes stand for, as a slot knows them.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, UInt32Array};
use arrow::error::ArrowError;

use super::text_numbers::TextNumbers;
use crate::memory::{MemoryPool, ReservedVec};
use crate::table::{Code, Codes, by_width};

const UNKNOWN: u32 = u32::MAX;
/// The number of a text that is being asked for.
const ASKED: u32 = UNKNOWN - 1;

pub(super) struct KnownTexts {
    /// What the codes stand for.
    values: Option<ArrayRef>,
    /// The number of each value, or [`UNKNOWN`].
    numbers: ReservedVec<u32>,
}

impl KnownTexts {
    pub(super) fn new(pool: Option<&Arc<MemoryPool>>) -> Self {
        Self {
            values: None,
            numbers: ReservedVec::new(pool),
        }
    }

    /// The number of each row's text; NULL where the row is. Only texts that rows have are numbered.
    pub(super) fn of_rows(&mut self, codes: &Codes, texts: &TextNumbers) -> Result<UInt32Array, ArrowError> {
        let (rows, values) = (codes.rows(), codes.values());
        if rows.null_count() == rows.len() {
            return Ok(UInt32Array::new_null(rows.len()));
        }
        let is_same = self
            .values
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, values));
        if !is_same {
            self.values = Some(Arc::clone(values));
            self.numbers.clear();
            self.numbers.resize(values.len(), UNKNOWN)?;
        }
        let asked = by_width!(rows, |codes| ask(&mut self.numbers, codes));
        if !asked.is_empty() {
            let numbers = &mut self.numbers;
            texts.number(values, Some(&asked), |at, number| {
                numbers[asked[at] as usize] = number
            })?;
        }
        let numbers = by_width!(rows, |codes| self.look_up(codes));
        Ok(UInt32Array::new(numbers.into(), rows.nulls().cloned()))
    }

    fn look_up<C: Code>(&self, codes: &[C]) -> Vec<u32> {
        let numbers = &*self.numbers;
        let number = |&code: &C| numbers[code.into() as usize];
        codes.iter().map(number).collect()
    }
}

/// The codes whose texts have no number yet, each once.
fn ask<C: Code>(numbers: &mut [u32], codes: &[C]) -> Vec<u32> {
    let mut asked = Vec::new();
    for &code in codes {
        let code: u32 = code.into();
        let number = &mut numbers[code as usize];
        if *number == UNKNOWN {
            *number = ASKED;
            asked.push(code);
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray as _, StringViewArray, UInt8Array};
    use arrow::datatypes::DataType;
    use proptest::prelude::*;

    use super::*;

    /// Values that codes stand for, of which some stand twice, and the codes of a chunk's rows.
    fn chunk() -> impl Strategy<Value = (Vec<String>, Vec<Option<u8>>)> {
        let values = proptest::collection::vec("[ab]{0,2}|a text of more bytes than a word [ab]", 1..9);
        let rows = proptest::collection::vec(proptest::option::weighted(0.8, any::<u8>()), 0..30);
        (values, rows).prop_map(|(values, mut rows)| {
            rows.iter_mut()
                .flatten()
                .for_each(|code| *code %= values.len() as u8);
            (values, rows)
        })
    }

    proptest! {
        #[test]
        fn numbers_of_rows_stand_for_their_texts_whatever_values_came_before(
            chunks in proptest::collection::vec((chunk(), any::<bool>()), 1..6),
        ) {
            let texts = TextNumbers::new(&DataType::Utf8View, None).unwrap();
            let mut known = KnownTexts::new(None);
            for ((values, rows), as_rows) in chunks {
                let values: ArrayRef = Arc::new(StringViewArray::from_iter_values(values));
                let codes = Codes::try_new(Arc::new(UInt8Array::from(rows)), values).unwrap();
                let decoded = codes.decoded().unwrap();
                let numbers = match as_rows {
                    true => texts.of_rows(&decoded).unwrap(),
                    false => known.of_rows(&codes, &texts).unwrap(),
                };
                prop_assert_eq!(&texts.texts(&numbers).unwrap(), &decoded);
                // The second time all texts are known.
                prop_assert_eq!(known.of_rows(&codes, &texts).unwrap(), numbers);
            }
        }
    }

    #[test]
    fn only_texts_that_rows_have_are_numbered() {
        let texts = TextNumbers::new(&DataType::Utf8View, None).unwrap();
        let values: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "b", "c"]));
        let codes = Codes::try_new(Arc::new(UInt8Array::from(vec![2, 2, 0])), values).unwrap();
        KnownTexts::new(None).of_rows(&codes, &texts).unwrap();
        assert_eq!(texts.len(), 2);
        let none: ArrayRef = Arc::new(StringViewArray::from(Vec::<&str>::new()));
        let codes = Codes::try_new(Arc::new(UInt8Array::from(vec![None, None])), none).unwrap();
        let numbers = KnownTexts::new(None).of_rows(&codes, &texts).unwrap();
        assert!(
            texts
                .texts(&numbers)
                .unwrap()
                .as_string_view()
                .iter()
                .all(|text| text.is_none())
        );
        assert_eq!(texts.len(), 2);
    }
}
