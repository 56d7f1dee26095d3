//! Texts in the fields of fixed-width keys: their bytes above a byte with their length.

use std::sync::Arc;

use arrow::array::{
    AnyDictionaryArray, Array, ArrayRef, AsArray, LargeStringArray, StringArray, StringViewArray,
};
use arrow::datatypes::DataType;

use super::super::dictionary_keys::DictionaryKeys;

/// The length of a NULL text; no packed text has it.
const TEXT_IS_NULL: u128 = 0xff;

/// What stands for a text of a dictionary that does not fit.
const IS_LONG: u128 = u128::MAX;

pub(super) fn pack(column: &ArrayRef, bytes: usize, fixed_keys: &mut [u128], long: &mut Vec<u32>) {
    macro_rules! pack {
        ($texts:expr) => {{
            let texts = $texts;
            for (row, fixed_key) in fixed_keys.iter_mut().enumerate() {
                let field = if texts.is_null(row) {
                    TEXT_IS_NULL
                } else {
                    let text: &[u8] = texts.value(row).as_ref();
                    if text.len() > bytes {
                        long.push(row as u32);
                        0
                    } else {
                        text.iter()
                            .rev()
                            .fold(0, |field, &byte| field << 8 | u128::from(byte))
                            << 8
                            | text.len() as u128
                    }
                };
                put(fixed_key, bytes, field);
            }
        }};
    }
    match column.data_type() {
        DataType::LargeUtf8 => pack!(column.as_string::<i64>()),
        DataType::Utf8View => pack!(column.as_string_view()),
        DataType::Dictionary(..) => pack_once(column.as_any_dictionary(), bytes, fixed_keys, long),
        _ => pack!(column.as_string::<i32>()),
    }
}

/// Whether all rows are known to have texts of more than `bytes`.
pub(super) fn are_longer(texts: &ArrayRef, bytes: usize) -> bool {
    if texts.null_count() > 0 {
        return false;
    }
    match texts.data_type() {
        DataType::Utf8 => texts
            .as_string::<i32>()
            .offsets()
            .lengths()
            .all(|len| len > bytes),
        DataType::LargeUtf8 => texts
            .as_string::<i64>()
            .offsets()
            .lengths()
            .all(|len| len > bytes),
        // A view's low bits are the text's length.
        DataType::Utf8View => {
            let views = texts.as_string_view().views().iter();
            views.map(|&view| view as u32 as usize).all(|len| len > bytes)
        }
        _ => false,
    }
}

/// Packs each text of a dictionary, and then what each row's key stands for.
fn pack_once(texts: &dyn AnyDictionaryArray, bytes: usize, fixed_keys: &mut [u128], long: &mut Vec<u32>) {
    let mut fields = vec![0; texts.values().len()];
    let mut long_texts = Vec::new();
    pack(texts.values(), bytes, &mut fields, &mut long_texts);
    long_texts
        .iter()
        .for_each(|&text| fields[text as usize] = IS_LONG);
    // Without a branch on which texts are long.
    let mut next = long.len();
    long.resize(next + fixed_keys.len(), 0);
    DictionaryKeys::of(texts).for_each(|row, text| {
        let field = text.map_or(TEXT_IS_NULL, |text| fields[text]);
        put(&mut fixed_keys[row], bytes, field);
        long[next] = row as u32;
        next += usize::from(field == IS_LONG);
    });
    long.truncate(next);
}

fn put(fixed_key: &mut u128, bytes: usize, field: u128) {
    let shift = 8 * (bytes as u32 + 1);
    // A single text can have all bits.
    *fixed_key = fixed_key.checked_shl(shift).unwrap_or(0) | field;
}

pub(super) fn unpack(data_type: &DataType, fields: impl Iterator<Item = u128>) -> ArrayRef {
    let texts = fields.map(|field| {
        let length = (field & 0xff) as usize;
        let bytes = (field >> 8).to_le_bytes();
        (field != TEXT_IS_NULL).then(|| {
            let text = std::str::from_utf8(&bytes[..length]);
            text.expect("a text was packed").to_owned()
        })
    });
    match data_type {
        DataType::LargeUtf8 => Arc::new(LargeStringArray::from_iter(texts)),
        DataType::Utf8View => Arc::new(StringViewArray::from_iter(texts)),
        _ => Arc::new(StringArray::from_iter(texts)),
    }
}
