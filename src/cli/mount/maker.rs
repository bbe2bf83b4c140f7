//! Who is noted on what a mount sends, if the settings do not say it.

use std::{env, fs};

/// The user with this number and the name of this machine.
pub(super) fn user_at_machine(uid: u32) -> String {
    let machine = rustix::system::uname();
    let is_own = uid == rustix::process::geteuid().as_raw();
    let uid = uid.to_string();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let listed = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1) == Some(&uid)).then(|| name.to_owned())
    });
    // Users of a directory service are not in the file.
    let named = || is_own.then(|| env::var("USER").ok()).flatten();
    let user = listed.or_else(named).unwrap_or(uid);
    format!("{user}@{}", machine.nodename().to_string_lossy())
}
