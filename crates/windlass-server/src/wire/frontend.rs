//! What a client says after its login.

use bytes::{Buf, Bytes};

use super::sql_error::SqlError;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    Query(String),
    Parse {
        name: String,
        sql: String,
        /// 0 where the server infers the type.
        parameter_types: Vec<u32>,
    },
    Bind(Bind),
    Describe(Target),
    Execute {
        portal: String,
        /// The portal pauses after these rows; 0 stands for all.
        rows_max: u32,
    },
    Close(Target),
    Flush,
    Sync,
    Terminate,
    /// A password, or a step of SASL.
    Secret(Bytes),
    /// COPY's data and end, which this server never asks for.
    Copy,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bind {
    pub(crate) portal: String,
    pub(crate) statement: String,
    pub(crate) parameter_formats: Vec<i16>,
    pub(crate) parameters: Vec<Option<Bytes>>,
    pub(crate) result_formats: Vec<i16>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Statement(String),
    Portal(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Binary,
}

impl Format {
    pub(crate) fn from_code(code: i16) -> Result<Self, SqlError> {
        match code {
            0 => Ok(Self::Text),
            1 => Ok(Self::Binary),
            _ => Err(SqlError::protocol(format!("there is no format {code}"))),
        }
    }

    pub(crate) fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

impl Message {
    /// Fails if `kind` is unknown, the body is too short or too long, or a text is not UTF-8.
    pub(crate) fn read(kind: u8, body: Bytes) -> Result<Self, SqlError> {
        let mut body = Body(body);
        let message = match kind {
            b'Q' => Self::Query(body.text()?),
            b'P' => Self::Parse {
                name: body.text()?,
                sql: body.text()?,
                parameter_types: body.list(Body::u32)?,
            },
            b'B' => Self::Bind(Bind {
                portal: body.text()?,
                statement: body.text()?,
                parameter_formats: body.list(Body::i16)?,
                parameters: body.list(Body::value)?,
                result_formats: body.list(Body::i16)?,
            }),
            b'D' => Self::Describe(body.target()?),
            b'E' => Self::Execute {
                portal: body.text()?,
                rows_max: body.u32()?,
            },
            b'C' => Self::Close(body.target()?),
            b'H' => Self::Flush,
            b'S' => Self::Sync,
            b'X' => Self::Terminate,
            b'p' => Self::Secret(body.rest()),
            b'd' | b'c' | b'f' => {
                body.rest();
                Self::Copy
            }
            _ => {
                let what = format!("there is no message of type {:?}", char::from(kind));
                return Err(SqlError::protocol(what));
            }
        };
        if body.0.is_empty() {
            Ok(message)
        } else {
            let what = format!("a message of type {:?} is too long", char::from(kind));
            Err(SqlError::protocol(what))
        }
    }
}

/// What is still to be read.
#[derive(Debug)]
pub(super) struct Body(pub(super) Bytes);

impl Body {
    /// Up to a zero byte.
    pub(super) fn text(&mut self) -> Result<String, SqlError> {
        let end = self.0.iter().position(|&byte| byte == 0);
        let end = end.ok_or_else(|| SqlError::protocol("a text has no end"))?;
        let text = self.0.split_to(end);
        self.0.advance(1);
        let text = String::from_utf8(text.into());
        text.map_err(|_| SqlError::new("22021", "a text of the message is not UTF-8"))
    }

    fn i16(&mut self) -> Result<i16, SqlError> {
        self.0.try_get_i16().map_err(|_| too_short())
    }

    pub(super) fn u32(&mut self) -> Result<u32, SqlError> {
        self.0.try_get_u32().map_err(|_| too_short())
    }

    /// `None` for NULL.
    fn value(&mut self) -> Result<Option<Bytes>, SqlError> {
        match self.u32()? {
            u32::MAX => Ok(None),
            length if self.0.len() >= length as usize => Ok(Some(self.0.split_to(length as usize))),
            _ => Err(too_short()),
        }
    }

    /// No memory is reserved by the number that the client sends.
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, SqlError>) -> Result<Vec<T>, SqlError> {
        let length = self.0.try_get_u16().map_err(|_| too_short())?;
        (0..length).map(|_| item(self)).collect()
    }

    fn target(&mut self) -> Result<Target, SqlError> {
        match self.0.try_get_u8().map_err(|_| too_short())? {
            b'S' => Ok(Target::Statement(self.text()?)),
            b'P' => Ok(Target::Portal(self.text()?)),
            other => {
                let what = format!("{:?} is neither a statement nor a portal", char::from(other));
                Err(SqlError::protocol(what))
            }
        }
    }

    fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.0)
    }
}

fn too_short() -> SqlError {
    SqlError::protocol("a message ends before its last part")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_are_read_part_by_part() {
        let read = |kind, body: &[u8]| Message::read(kind, Bytes::copy_from_slice(body)).unwrap();
        assert_eq!(read(b'Q', b"select 1\0"), Message::Query("select 1".to_owned()));
        assert_eq!(
            read(b'P', b"s\0select $1\0\0\x01\0\0\0\x17"),
            Message::Parse {
                name: "s".to_owned(),
                sql: "select $1".to_owned(),
                parameter_types: vec![23],
            }
        );
        assert_eq!(
            read(b'B', b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\0"),
            Message::Bind(Bind {
                portal: String::new(),
                statement: "s".to_owned(),
                parameter_formats: vec![1],
                parameters: vec![Some(Bytes::from_static(b"x")), None],
                result_formats: vec![],
            })
        );
        assert_eq!(
            read(b'C', b"Pp\0"),
            Message::Close(Target::Portal("p".to_owned()))
        );
        let execute = Message::Execute {
            portal: String::new(),
            rows_max: 7,
        };
        assert_eq!(read(b'E', b"\0\0\0\0\x07"), execute);
    }

    #[test]
    fn a_broken_message_is_an_error_that_says_what_is_wrong() {
        for (kind, body, what) in [
            (b'Q', &b"select 1"[..], "no end"),
            (b'Q', b"a\0b\0", "too long"),
            (b'Q', b"\xff\0", "not UTF-8"),
            (b'E', b"\0\0\0", "ends before"),
            (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff", "ends before"),
            (b'B', b"\0\0\xff\xff\0\0", "ends before"),
            (b'D', b"Xa\0", "neither a statement nor a portal"),
            (b'!', b"", "no message of type '!'"),
            (b'S', b"x", "too long"),
        ] {
            let error = Message::read(kind, Bytes::copy_from_slice(body)).unwrap_err();
            assert!(error.message.contains(what), "{error:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_an_error(kind in any::<u8>(), body in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Message::read(kind, body.into());
        }
    }
}
