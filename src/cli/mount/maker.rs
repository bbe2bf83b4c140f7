//! Who is noted on what a mount sends, if the settings do not say it.

use std::{env, fs};

/// The user of this process and the name of this machine.
pub(super) fn user_at_machine() -> String {
    let machine = rustix::system::uname();
    let uid = rustix::process::geteuid().as_raw().to_string();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let listed = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1) == Some(&uid)).then(|| name.to_owned())
    });
    // Users of a directory service are not in the file.
    let user = listed.or_else(|| env::var("USER").ok()).unwrap_or(uid);
    format!("{user}@{}", machine.nodename().to_string_lossy())
}
