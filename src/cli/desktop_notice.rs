//! `assetfs desktop-notice`: shows one notification of the desktop. Started by the mount in a process of its own, so that a
//! desktop that does not answer holds up nothing, and as the user who is to see it: the bus of a session takes connections of
//! its user alone, not even of root.

use std::collections::HashMap;
use std::env;
use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use zbus::conn;
use zbus::wire::Variant;

use super::block_on::block_on;
use super::exit::Exit;

/// How long the desktop may take.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);
const BUS_NAME: &str = "org.freedesktop.Notifications";
const OBJECT: &str = "/org/freedesktop/Notifications";

/// A notification, which this command reads from standard input as JSON.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Notice {
    pub(super) title: String,
    pub(super) text: String,
}

pub(super) fn run() -> Result<Exit> {
    let notice: Notice =
        serde_json::from_reader(io::stdin().lock()).context("standard input holds no notice")?;
    block_on(async {
        let shown = tokio::time::timeout(DEADLINE, show(&notice)).await;
        shown.context("the desktop took no notification in time")?
    })?;
    Ok(Exit::Done)
}

async fn show(notice: &Notice) -> Result<()> {
    let bus = conn::Builder::session().build().await?;
    // The notification that it replaces (none), then the icon; at the end how long it stands: the desktop decides.
    let hints = HashMap::from([("desktop-entry", Variant::from("assetfs"))]);
    let no_actions: Vec<&str> = Vec::new();
    let wanted = (
        "assetfs",
        0u32,
        "",
        &notice.title,
        escaped(&notice.text),
        no_actions,
        hints,
        -1i32,
    );
    bus.call_method(Some(BUS_NAME), OBJECT, Some(BUS_NAME), "Notify", &wanted)
        .await?;
    Ok(())
}

/// Escapes what a notification server reads as markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Whether this process is in the session of a desktop. Without an address, a library may start a bus of its own.
pub(super) fn has_session_bus() -> bool {
    let address = env::var_os("DBUS_SESSION_BUS_ADDRESS");
    let runtime = env::var_os("XDG_RUNTIME_DIR");
    address.is_some_and(|address| !address.is_empty())
        || runtime.is_some_and(|dir| Path::new(&dir).join("bus").exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_markup() {
        assert_eq!(escaped("a<b>&c"), "a&lt;b&gt;&amp;c");
    }
}
