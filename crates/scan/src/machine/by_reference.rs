//! A reference to an engine or a sink is one as well, so that a scan may borrow them.

use std::io;

use crate::engine::{Engine, Found, Piece, Unit};
use crate::object::Object;
use crate::report::Report;
use crate::sink::Sink;

impl<E: Engine + ?Sized> Engine for &E {
    type Scratch = E::Scratch;

    fn unit(&self) -> Unit {
        (**self).unit()
    }

    fn scratch(&self) -> Self::Scratch {
        (**self).scratch()
    }

    fn scan(&self, piece: Piece<'_>, scratch: &mut Self::Scratch, found: &mut Found) {
        (**self).scan(piece, scratch, found);
    }
}

impl<K: Sink + ?Sized> Sink for &K {
    type Output = K::Output;

    fn output(&self) -> &Self::Output {
        (**self).output()
    }

    fn write(&self, block: &[u8]) -> io::Result<()> {
        (**self).write(block)
    }

    fn report(&self, object: &Object, report: &Report) {
        (**self).report(object, report);
    }

    fn is_prompt(&self) -> bool {
        (**self).is_prompt()
    }
}
