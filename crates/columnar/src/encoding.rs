//! Keys as bits or bytes that are equal exactly if the keys are.
//!
//! ```text
//!   'A', 7          all fit ──► 128 bits        fixed_width
//!   'a long URL…'   one does not ──► bytes      row_encoder ─► byte_pieces
//! ```

mod byte_pieces;
mod dictionary_keys;
mod encoded_rows;
mod fixed_width;
mod row_encoder;

pub(crate) use byte_pieces::{BytePieces, BytePlace};
pub(crate) use encoded_rows::EncodedRows;
pub(crate) use fixed_width::{FixedWidthLayout, Numbers, is_text};
pub(crate) use row_encoder::{BATCH_ROWS, NULL_ROW, RowEncoder};
