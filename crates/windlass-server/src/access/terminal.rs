//! Reads a line from the terminal without showing it. The terminal still edits it (backspace,
//! Ctrl-U). Its signals are off, so Ctrl-C cannot end the program while nothing is shown: Ctrl-C
//! and Ctrl-\ end the line with an error, and the terminal is as before.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::termios::{self, LocalFlags, SetArg, SpecialCharacterIndices, Termios};

/// What Linux' terminals take.
const LINE_BYTES_MAX: usize = 4096;

pub(super) fn read_hidden(
    terminal: BorrowedFd<'_>,
    output: &mut dyn Write,
    prompt: &str,
) -> io::Result<Vec<u8>> {
    let mut input = File::from(terminal.try_clone_to_owned()?);
    let hidden = Hidden::begin(terminal)?;
    // Only now, because setting the terminal discards what was typed before.
    write!(output, "{prompt}")?;
    output.flush()?;
    let line = read_line(&mut input, &hidden.aborts);
    // The line's end was not shown either.
    writeln!(output)?;
    line
}

fn read_line(input: &mut dyn Read, aborts: &[u8]) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut bytes = [0; 256];
    loop {
        let read = match input.read(&mut bytes) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        line.extend(&bytes[..read]);
        match line.last() {
            Some(b'\n') => {
                line.pop();
                return Ok(line);
            }
            Some(last) if aborts.contains(last) => {
                return Err(io::Error::new(ErrorKind::Interrupted, "interrupted"));
            }
            None => return Err(io::Error::new(ErrorKind::UnexpectedEof, "no line was typed")),
            Some(_) if read == 0 => return Ok(line),
            Some(_) if line.len() > LINE_BYTES_MAX => {
                return Err(io::Error::new(ErrorKind::InvalidData, "the line is too long"));
            }
            Some(_) => {}
        }
    }
}

/// Shows nothing until it is dropped.
struct Hidden<'a> {
    terminal: BorrowedFd<'a>,
    before: Termios,
    /// The characters of Ctrl-C and Ctrl-\.
    aborts: [u8; 2],
}

impl<'a> Hidden<'a> {
    fn begin(terminal: BorrowedFd<'a>) -> io::Result<Self> {
        use SpecialCharacterIndices::{VEOL, VEOL2, VINTR, VQUIT};

        let before = termios::tcgetattr(terminal)?;
        let mut hidden = before.clone();
        hidden.local_flags.remove(LocalFlags::ECHO | LocalFlags::ISIG);
        hidden.local_flags.insert(LocalFlags::ICANON);
        let aborts = [VINTR, VQUIT].map(|index| before.control_chars[index as usize]);
        hidden.control_chars[VEOL as usize] = aborts[0];
        hidden.control_chars[VEOL2 as usize] = aborts[1];
        termios::tcsetattr(terminal, SetArg::TCSAFLUSH, &hidden)?;
        Ok(Self {
            terminal,
            before,
            aborts,
        })
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        // An error means that the terminal is gone.
        let _ = termios::tcsetattr(self.terminal.as_fd(), SetArg::TCSADRAIN, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};
    use std::thread;

    use nix::pty::openpty;

    use super::*;

    /// One message a write.
    struct Told(Sender<Vec<u8>>);

    impl Write for Told {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let told = self.0.send(bytes.to_vec());
            told.map(|()| bytes.len()).map_err(io::Error::other)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn wait_for(prompt: &str, told: &Receiver<Vec<u8>>) {
        let mut seen = Vec::new();
        while seen != prompt.as_bytes() {
            seen.extend(told.recv().unwrap());
        }
    }

    /// Returns what was read and what the terminal showed.
    fn typed(keys: &[u8]) -> (io::Result<Vec<u8>>, Vec<u8>) {
        let pty = openpty(None, None).unwrap();
        let before = termios::tcgetattr(&pty.slave).unwrap();
        let (tell, told) = mpsc::channel();
        let mut master = File::from(pty.master);
        let read = thread::scope(|scope| {
            let reader = scope.spawn(|| read_hidden(pty.slave.as_fd(), &mut Told(tell), "Password: "));
            wait_for("Password: ", &told);
            master.write_all(keys).unwrap();
            reader.join().unwrap()
        });
        assert!(
            termios::tcgetattr(&pty.slave).unwrap() == before,
            "the terminal is as before"
        );
        // The mark must be all that the terminal shows.
        File::from(pty.slave).write_all(b"#").unwrap();
        let mut shown = Vec::new();
        while shown.last() != Some(&b'#') {
            let mut byte = [0];
            master.read_exact(&mut byte).unwrap();
            shown.extend(byte);
        }
        (read, shown)
    }

    #[test]
    fn a_line_is_read_without_being_shown() {
        let (read, shown) = typed(b"secret\n");
        assert_eq!(
            (read.unwrap().as_slice(), shown.as_slice()),
            (&b"secret"[..], &b"#"[..])
        );
        assert_eq!(typed(b"wrong\x15secrex\x7ft\n").0.unwrap(), b"secret", "edited");
        assert_eq!(
            typed("gehe\u{ef}m\r".as_bytes()).0.unwrap(),
            "gehe\u{ef}m".as_bytes()
        );
        assert_eq!(typed(b"\n").0.unwrap(), b"");
        assert_eq!(typed(b"half\x04\x04").0.unwrap(), b"half");
    }

    #[test]
    fn control_c_and_the_end_of_input_are_errors_that_restore_the_terminal() {
        for (keys, expected) in [
            (&b"sec\x03"[..], ErrorKind::Interrupted),
            (b"\x03", ErrorKind::Interrupted),
            (b"sec\x1c", ErrorKind::Interrupted),
            (b"\x04", ErrorKind::UnexpectedEof),
        ] {
            let (read, shown) = typed(keys);
            assert_eq!(read.unwrap_err().kind(), expected);
            assert_eq!(shown, b"#");
        }
    }
}
