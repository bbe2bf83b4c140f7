//! Commands to a mount over ioctl(2). On a read-only mount the kernel opens no `ctl` file for writing, but passes on an
//! ioctl on one that is open for reading.

use std::fs::File;
use std::io;

use rustix::ioctl::{self, Opcode, Setter, opcode};

/// The bytes of the argument: a line, and zeros.
type Argument = [u8; 4096];

const COMMAND: Opcode = opcode::write::<Argument>(b'a', 1);

/// Sends one line to a `ctl` file that is open for reading. The error is that of the command.
#[expect(unsafe_code, reason = "every ioctl is unsafe")]
pub fn send_command(ctl: &File, line: &str) -> io::Result<()> {
    let mut argument: Argument = [0; _];
    let start = argument.get_mut(..line.len());
    let start = start.ok_or(io::ErrorKind::InvalidInput)?;
    start.copy_from_slice(line.as_bytes());
    // SAFETY: by the opcode the kernel reads as many bytes at the address as the argument has, and writes none.
    unsafe { ioctl::ioctl(ctl, Setter::<COMMAND, Argument>::new(argument)) }.map_err(Into::into)
}

/// The line of a request; `None` if it is another ioctl.
pub(super) fn command_in(opcode: u32, argument: &[u8]) -> Option<String> {
    let line = argument.split(|byte| *byte == 0).next()?;
    (Opcode::from(opcode) == COMMAND).then(|| String::from_utf8_lossy(line).into_owned())
}
