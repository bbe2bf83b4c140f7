//! What a page shows.

/// What a page shows.
#[derive(Debug)]
pub struct Exhibit<'a> {
    /// The name of the embed.
    pub name: &'a str,
    /// The name of the embed in addresses; its files are below it.
    pub identifier: &'a str,
    /// The whole address of the page, for the previews of links.
    pub address: &'a str,
    /// The origin of the files, if it is not that of the page.
    pub storage: Option<&'a str>,
    /// Whether there is a usdz for phones.
    pub has_usdz: bool,
    /// Whether there is a thumbnail.
    pub has_poster: bool,
    /// The viewer configuration as JSON text.
    pub config: &'a str,
}

/// A text as it may stand between tags and in quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            control if control.is_control() => safe.push(' '),
            plain => safe.push(plain),
        }
    }
    safe
}
