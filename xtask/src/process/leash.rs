//! A program on a leash: when the leash is let go, the program ends, with all that it has started.
//!
//! The program leads a process group of its own, and beside it in the group a shell waits at a pipe whose other end is
//! ours. The pipe closes when we drop it, and also when we end ourselves, however we end: by Ctrl-C, which the terminal
//! does not send to other groups, or by a signal that nobody can handle. Then the shell ends the group, which includes it.
//!
//! A program on a leash that puts others on leashes holds their pipes, so they end with it.
//!
//! ```text
//!   xtask ──pipe──► sh: at the end of the pipe, `kill -KILL 0` ┐
//!     └─ waits for ─► cargo ─► rustc, test binaries, ...       ┘ one process group
//! ```

use std::process::Command;

/// The shell becomes the program; its other half is what waits. A half that the shell starts in the background would
/// have no standard input, hence the number 3. It holds no output of ours, or whoever reads that would wait for it.
#[cfg(unix)]
const SCRIPT: &str = r#"exec 3<&0
{ read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null"#;

/// `command` on a leash, which is its standard input. `None` where the system has no process groups.
#[cfg(unix)]
pub(super) fn leashed(command: &Command) -> Option<Command> {
    use std::os::unix::process::CommandExt as _;
    use std::process::Stdio;

    let mut leashed = Command::new("sh");
    leashed
        .args(["-c", SCRIPT, "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::piped())
        .process_group(0);
    if let Some(folder) = command.get_current_dir() {
        leashed.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => leashed.env(name, value),
            None => leashed.env_remove(name),
        };
    }
    Some(leashed)
}

/// `None`: the system has no process groups.
#[cfg(not(unix))]
pub(super) fn leashed(_command: &Command) -> Option<Command> {
    None
}
