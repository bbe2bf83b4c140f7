//! `assetfs embed`: the address and the snippet of an embed of a model. Makes the embed by a text in the model's `embeds/`, as a
//! script can do it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use clap_complete::engine::ArgValueCompleter;
use url::Url;

use crate::client::is_loopback_host;
use crate::drive::{EMBED_LISTED_WITHIN, StatusWord, ends_in_id};
use crate::fuse::shell_quoted;
use crate::web_url::web_url;

use super::completers;
use super::control;
use super::exit::{Exit, TimedOut, WrongUse};
use super::files::is_json;
use super::mounted::{self, MountedDrive, POLL_PERIOD, explain_at};
use super::output;
use super::settings::Span;
use super::unanswered;
use super::wait::{self, State};

/// The text that this command makes an embed with, and the link beside it once the embed is there.
const TEXT: &str = "share.json";
const LINK: &str = "share.html";

/// Print the address and the snippet of an embed of a model
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs embed ~/assets/rapidmodels/chair\n\
    Example: assetfs embed ~/assets/rawmodels/chair/optimize/web\n\
    Example: assetfs embed --json ~/assets/rapidmodels/chair | jq -r .snippet\n\
    An embed is a page with a viewer of the model. If the model has none, one is made, which costs no point. Anyone who has its\n\
    address can see the model, until its page in embeds/ is removed.")]
pub(super) struct EmbedArgs {
    /// Optimized models, models in glb format, texts or results in optimize/, or pages in embeds/
    #[arg(required = true, add = ArgValueCompleter::new(completers::models), value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Give up waiting after this time
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// One of the paths, and how it is embedded.
struct OneEmbed<'a> {
    path: &'a Path,
    /// Its address needs its path beside it.
    is_one_of_several: bool,
    timeout: Option<Span>,
    quiet: bool,
}

pub(super) fn run(args: &EmbedArgs) -> Result<Exit> {
    let _ends = unanswered::end_after(args.timeout);
    let mut exit = Exit::Done;
    for path in &args.paths {
        let asked = OneEmbed {
            path,
            is_one_of_several: args.paths.len() > 1,
            timeout: args.timeout,
            quiet: args.quiet,
        };
        exit = exit.max(output::about(Some(path), embed(&asked))?);
    }
    Ok(exit)
}

fn embed(asked: &OneEmbed<'_>) -> Result<Exit> {
    mounted::check_exists(asked.path)?;
    let (page, is_new) = match Subject::of(asked.path)? {
        Subject::Page(page) => (page, false),
        Subject::Model(model) => {
            let folder = embeds_of(asked.path, &model)?;
            match page_in(&folder)? {
                Some(page) => (page, false),
                None => make(asked, &folder)?,
            }
        }
    };
    let url = address(&page)?;
    let snippet = snippet(&url);
    if output::is_json() {
        output::line(serde_json::json!({
            "path": asked.path.to_string_lossy(),
            "state": "done",
            "exit": 0,
            "page": page,
            "url": url.as_str(),
            "snippet": snippet,
            "made": is_new,
        }));
        return Ok(Exit::Done);
    }
    if asked.is_one_of_several {
        println!("{}:", shell_quoted(asked.path));
    }
    println!("{url}");
    println!("{snippet}");
    if !asked.quiet {
        let made = if is_new { "Made a new embed. " } else { "" };
        eprintln!(
            "{made}Anyone who has the address can see the model; `rm {}` ends that.",
            shell_quoted(&page)
        );
        if is_loopback_host(&url) {
            eprintln!(
                "This address works on this machine only; `assetfs serve --help` says how the service serves others."
            );
        }
    }
    Ok(Exit::Done)
}

/// What a path stands for.
enum Subject {
    /// The folder of a model.
    Model(PathBuf),
    /// A page in `embeds/`.
    Page(PathBuf),
}

impl Subject {
    fn of(path: &Path) -> Result<Subject> {
        let drive = MountedDrive::of(path)?;
        let root = drive.root();
        let given = mounted::own_target(path)?;
        // The text of an optimization stands for its result.
        let result = given.with_extension("");
        let is_text = is_json(&given)
            && (given.parent().and_then(Path::file_name)).is_some_and(|name| name == "optimize");
        let given = if is_text { result } else { given };
        let whole = fs::canonicalize(&given).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if is_text => {
                let path = shell_quoted(path);
                anyhow::anyhow!("{path} has no result yet; wait for it: assetfs wait {path}")
            }
            _ => explain_at(&given, error),
        })?;
        let below = whole.strip_prefix(root).unwrap_or(&whole);
        let names: Vec<&str> = below
            .iter()
            .map(|name| name.to_str().unwrap_or_default())
            .collect();
        match names[..] {
            ["embeds", name] if name.ends_with(".html") => Ok(Subject::Page(whole)),
            ["rawmodels", _] if whole.is_file() => {
                let id = mounted::item_id(&whole)?;
                let by_id = |id: String| root.join("rawmodels/.assetfs/by-id").join(id);
                Ok(Subject::Model(id.map_or(whole, by_id)))
            }
            ["rawmodels" | "rapidmodels", name, ..]
                if !name.is_empty() && !name.starts_with('.') =>
            {
                Ok(Subject::Model(root.join(names[0]).join(name)))
            }
            _ => Err(WrongUse(format!(
                "{} is neither a model nor the page of an embed",
                shell_quoted(path)
            ))
            .into()),
        }
    }
}

/// The drop folder for embeds of a model; refused if it has none.
fn embeds_of(path: &Path, model: &Path) -> Result<PathBuf> {
    let folder = model.join("embeds");
    if folder.is_dir() {
        return Ok(folder);
    }
    let path = shell_quoted(path);
    match mounted::item_report(model).map_err(|error| explain_at(model, error))? {
        Some(report) if report.state == StatusWord::Complete => {
            bail!("{path} is no glb, which a viewer needs; optimize it, and embed the result")
        }
        Some(report) if report.state == StatusWord::Failed => bail!("{path}: {}", report.status),
        Some(report) => bail!(
            "{path} is not complete ({}); wait for it: assetfs wait {path}",
            report.status
        ),
        None => bail!("{path} is not a model"),
    }
}

/// The page of an embed that was made from a text in this folder: that of this command, else the first by name.
fn page_in(folder: &Path) -> Result<Option<PathBuf>> {
    let mut links = links_in(folder)?;
    links.sort_by_key(|link| (!link.ends_with(LINK), link.clone()));
    // A link may be left for a moment of an embed that was deleted elsewhere.
    Ok(links.iter().find_map(|link| fs::canonicalize(link).ok()))
}

/// The links to pages in a drop folder.
fn links_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut links = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| explain_at(folder, error))? {
        let path = entry.map_err(|error| explain_at(folder, error))?.path();
        if path.extension().is_some_and(|it| it == "html") {
            links.push(path);
        }
    }
    Ok(links)
}

/// Makes an embed with the default viewer, unless another call just makes it. Returns its page, and whether this call made it.
fn make(asked: &OneEmbed<'_>, folder: &Path) -> Result<(PathBuf, bool)> {
    let begun = Instant::now();
    let (text, link) = (folder.join(TEXT), folder.join(LINK));
    let mut is_new = write_text(asked, &text, folder.parent().unwrap_or(folder))?;
    let _turn = wait_for_turn(asked, &text, begun)?;
    if let Some(page) = page_in(folder)? {
        return Ok((page, is_new));
    }
    wait_until_made(asked, &text, begun)?;
    // The folder is listed, because the kernel may still know the name of a link that is gone.
    if !links_in(folder)?.contains(&link) {
        // The page of that embed was removed. Its text stays, and the same text is sent once, unless it is run again.
        control::run_again(&text)?;
        wait_until_made(asked, &text, begun)?;
        is_new = true;
    }
    Ok((listed(asked, &link, begun)?, is_new))
}

/// Writes the text of the embed, which sends it; false if there is one, which an earlier call or another one has sent.
fn write_text(asked: &OneEmbed<'_>, text: &Path, model: &Path) -> Result<bool> {
    let bytes = text_for(&model_name(model)?);
    match File::create_new(text).and_then(|mut file| file.write_all(bytes.as_bytes())) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => match mounted::why(text).ok().flatten() {
            Some(why) => bail!("{}: {why}", shell_quoted(asked.path)),
            None => Err(explain_at(text, error)),
        },
    }
}

/// Of several calls at once one makes the embed. The others wait until the file that is returned is closed.
fn wait_for_turn(asked: &OneEmbed<'_>, text: &Path, begun: Instant) -> Result<File> {
    let file = File::open(text).map_err(|error| explain_at(text, error))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(explain_at(text, error)),
            Err(TryLockError::WouldBlock) => {}
        }
        let path = shell_quoted(asked.path);
        if asked
            .timeout
            .is_some_and(|limit| begun.elapsed() >= limit.0)
        {
            let text = format!("{path}: timed out while another call makes its embed");
            return Err(TimedOut(text).into());
        }
        std::thread::sleep(POLL_PERIOD);
    }
}

/// The name of the model that an embed shows, and so that of its page.
fn model_name(model: &Path) -> Result<String> {
    let whole = fs::canonicalize(model).map_err(|error| explain_at(model, error))?;
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
    let without_id = name.rsplit_once('~').filter(|_| ends_in_id(&name));
    Ok(without_id.map_or_else(|| name.to_string(), |(stem, _)| stem.to_owned()))
}

/// The text of an embed of this name with the default viewer.
fn text_for(name: &str) -> String {
    format!("{}\n", serde_json::json!({ "name": name }))
}

/// Waits until the service has made the embed of a text.
fn wait_until_made(asked: &OneEmbed<'_>, text: &Path, begun: Instant) -> Result<()> {
    let limit = asked
        .timeout
        .map(|span| span.0.saturating_sub(begun.elapsed()));
    let outcome = wait::wait_for(&[text.to_owned()], limit, asked.quiet)?;
    let path = shell_quoted(asked.path);
    match outcome.states.into_iter().next() {
        Some((_, State::Failed(_, why))) => {
            bail!("{path}: {why}. To try again: rm {}", shell_quoted(text))
        }
        Some((_, State::Going(_, status))) => {
            Err(TimedOut(format!("{path}: timed out while {status}")).into())
        }
        Some((_, State::Done(..))) | None => Ok(()),
    }
}

/// Waits until the page of a new embed is listed.
fn listed(asked: &OneEmbed<'_>, link: &Path, begun: Instant) -> Result<PathBuf> {
    let since = Instant::now();
    let limit = asked.timeout.map(|span| span.0);
    loop {
        match fs::canonicalize(link) {
            Ok(page) => return Ok(page),
            Err(error) if mounted::means_ended(&error) => {
                return Err(explain_at(link, error));
            }
            Err(_) => {}
        }
        let path = shell_quoted(asked.path);
        if limit.is_some_and(|limit| begun.elapsed() >= limit) {
            let text = format!("{path}: timed out before the service listed the page of the embed");
            return Err(TimedOut(text).into());
        }
        if since.elapsed() >= EMBED_LISTED_WITHIN {
            bail!(
                "the service made the embed of {path}, but does not list its page after {} s; run the same command again",
                EMBED_LISTED_WITHIN.as_secs()
            );
        }
        std::thread::sleep(POLL_PERIOD);
    }
}

/// The address of an embed. It comes from the service, so it is checked.
fn address(page: &Path) -> Result<Url> {
    let shown = shell_quoted(page);
    let Some(text) = mounted::item_url(page)? else {
        bail!(
            "the service gives no address for {shown}, so there is nothing to share: `assetfs why {shown}` says more; run \
             the command again"
        );
    };
    match web_url(&text) {
        Some(url) => Ok(url),
        None => bail!(
            "the service gives `{text}` as the address of {shown}, which is not an http or https address; tell who runs \
             the service"
        ),
    }
}

/// What to put into another page, as the page of the service writes it.
fn snippet(url: &Url) -> String {
    // A parsed `Url` contains no quotes. In an HTML attribute, the `&` of a query has to be escaped.
    let url = url.as_str().replace('&', "&amp;");
    format!(
        r#"<iframe src="{url}" title="3D model" width="640" height="480" allow="fullscreen; xr-spatial-tracking" loading="lazy"></iframe>"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_service_cannot_leave_the_snippet() {
        let url = web_url("https://x.example/embed/1?a=\"><script>&b='c'").unwrap();
        let snippet = snippet(&url);
        assert_eq!(snippet.matches('<').count(), 2, "{snippet}");
        assert!(snippet.contains("&amp;b="), "{snippet}");
    }

    #[cfg(feature = "local-service")]
    #[test]
    fn the_snippet_is_that_of_the_page() {
        let dialog = include_str!("../service/page/scripts/embed_dialog.js");
        let url = web_url("https://x.example/embed/1").unwrap();
        let expected = snippet(&url).replace(url.as_str(), "${url}");
        assert!(dialog.contains(&expected), "{expected}");
    }
}
