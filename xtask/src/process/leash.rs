//! A program on a leash: dropping the leash ends the program and all that it started.
//!
//! The program leads a process group. A shell in it waits at a pipe whose other end is ours. When
//! we drop the pipe, or end by Ctrl-C or any signal, it closes and the shell ends the group.
//! Leashes nest: a program holds the pipes of its own leashes.
//!
//! ```text
//!   xtask ──pipe──► sh: at the end of the pipe, `kill -KILL 0` ┐
//!     └─ waits for ─► cargo ─► rustc, test binaries, ...       ┘ one process group
//! ```

use std::process::Command;

/// The shell becomes the program; its background half waits. That half has no standard input, hence
/// descriptor 3, and none of our outputs, or their readers would wait for it.
#[cfg(unix)]
const SCRIPT: &str = r#"exec 3<&0
{ read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null"#;

/// The leash is the command's standard input. `None` without process groups.
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

#[cfg(not(unix))]
pub(super) fn leashed(_command: &Command) -> Option<Command> {
    None
}
