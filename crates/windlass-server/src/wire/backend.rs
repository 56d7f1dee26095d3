//! Messages of the server that wait to be written.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::frontend::Format;
use super::sql_error::SqlError;

#[derive(Debug, Default)]
pub(crate) struct Backend {
    bytes: BytesMut,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// In `pg_type`.
    pub(crate) type_oid: u32,
    /// Bytes; -1 if they vary.
    pub(crate) type_size: i16,
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TransactionStatus {
    #[default]
    Idle,
    Open,
    Failed,
}

impl Backend {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Advancing this takes off what was written.
    pub(crate) fn unwritten(&mut self) -> &mut impl Buf {
        &mut self.bytes
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn authentication_ok(&mut self) {
        self.message(b'R', |body| body.put_i32(0));
    }

    pub(crate) fn sasl_mechanisms(&mut self, names: &[&str]) {
        self.message(b'R', |body| {
            body.put_i32(10);
            for name in names {
                text(body, name);
            }
            body.put_u8(0);
        });
    }

    pub(crate) fn sasl_continue(&mut self, data: &[u8]) {
        self.message(b'R', |body| {
            body.put_i32(11);
            body.put_slice(data);
        });
    }

    pub(crate) fn sasl_final(&mut self, data: &[u8]) {
        self.message(b'R', |body| {
            body.put_i32(12);
            body.put_slice(data);
        });
    }

    pub(crate) fn parameter_status(&mut self, name: &str, value: &str) {
        self.message(b'S', |body| {
            text(body, name);
            text(body, value);
        });
    }

    pub(crate) fn backend_key(&mut self, process: u32, secret: &[u8]) {
        self.message(b'K', |body| {
            body.put_u32(process);
            body.put_slice(secret);
        });
    }

    /// The server has minor version 0, and none of these options.
    pub(crate) fn negotiate_version(&mut self, unknown_options: &[String]) {
        self.message(b'v', |body| {
            body.put_u32(3 << 16);
            body.put_u32(unknown_options.len() as u32);
            for option in unknown_options {
                text(body, option);
            }
        });
    }

    pub(crate) fn ready(&mut self, status: TransactionStatus) {
        self.message(b'Z', |body| {
            body.put_u8(match status {
                TransactionStatus::Idle => b'I',
                TransactionStatus::Open => b'T',
                TransactionStatus::Failed => b'E',
            });
        });
    }

    pub(crate) fn parse_complete(&mut self) {
        self.message(b'1', |_| {});
    }

    pub(crate) fn bind_complete(&mut self) {
        self.message(b'2', |_| {});
    }

    pub(crate) fn close_complete(&mut self) {
        self.message(b'3', |_| {});
    }

    pub(crate) fn no_data(&mut self) {
        self.message(b'n', |_| {});
    }

    pub(crate) fn empty_query(&mut self) {
        self.message(b'I', |_| {});
    }

    pub(crate) fn portal_suspended(&mut self) {
        self.message(b's', |_| {});
    }

    pub(crate) fn parameter_description(&mut self, types: &[u32]) {
        self.message(b't', |body| {
            body.put_u16(types.len() as u16);
            for &oid in types {
                body.put_u32(oid);
            }
        });
    }

    pub(crate) fn row_description(&mut self, columns: &[Column]) {
        self.message(b'T', |body| {
            body.put_u16(columns.len() as u16);
            for column in columns {
                text(body, &column.name);
                // Table and column number: none.
                body.put_u32(0);
                body.put_u16(0);
                body.put_u32(column.type_oid);
                body.put_i16(column.type_size);
                // Modifier: none.
                body.put_i32(-1);
                body.put_i16(column.format.code());
            }
        });
    }

    /// Messages that a worker has written.
    pub(crate) fn rows(&mut self, rows: &Bytes) {
        self.bytes.put_slice(rows);
    }

    pub(crate) fn text_row(&mut self, value: &str) {
        self.message(b'D', |body| {
            body.put_u16(1);
            body.put_u32(value.len() as u32);
            body.put_slice(value.as_bytes());
        });
    }

    pub(crate) fn command_complete(&mut self, tag: &str) {
        self.message(b'C', |body| text(body, tag));
    }

    pub(crate) fn notice(&mut self, message: &str) {
        self.message(b'N', |body| fields(body, "NOTICE", "00000", message));
    }

    pub(crate) fn error(&mut self, error: &SqlError) {
        self.message(b'E', |body| {
            fields(body, error.severity.name(), error.code, &error.message)
        });
    }

    fn message(&mut self, kind: u8, body: impl FnOnce(&mut BytesMut)) {
        self.bytes.put_u8(kind);
        let start = self.bytes.len();
        self.bytes.put_u32(0);
        body(&mut self.bytes);
        let length = self.bytes.len() - start;
        self.bytes[start..start + 4].copy_from_slice(&(length as u32).to_be_bytes());
    }
}

fn fields(body: &mut BytesMut, severity: &str, code: &str, message: &str) {
    let all = [(b'S', severity), (b'V', severity), (b'C', code), (b'M', message)];
    for (kind, value) in all {
        body.put_u8(kind);
        text(body, value);
    }
    body.put_u8(0);
}

/// Ends at the first zero byte, as it would for the client.
fn text(body: &mut BytesMut, text: &str) {
    let end = text.find('\0').unwrap_or(text.len());
    body.put_slice(&text.as_bytes()[..end]);
    body.put_u8(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_length_behind_its_type() {
        let mut out = Backend::default();
        out.command_complete("SELECT 1");
        out.ready(TransactionStatus::Open);
        assert_eq!(&out.bytes[..], b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05T");
    }

    #[test]
    fn a_zero_byte_in_an_error_does_not_break_the_message() {
        let mut out = Backend::default();
        out.error(&SqlError::new("42601", "near a\0b"));
        assert_eq!(&out.bytes[5..], b"SERROR\0VERROR\0C42601\0Mnear a\0\0");
    }
}
