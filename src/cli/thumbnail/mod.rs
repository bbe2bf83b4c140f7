//! `assetfs thumbnail`: a small picture of a model, as file managers ask for it (freedesktop `.thumbnailer` files).
//!
//! On a drive the picture is the service's, and no byte of the model is read. Other models are drawn by the engine in a
//! worker process with limits, because nobody chose to open these files.

pub(super) mod setup;

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::drive::StatusWord;
use crate::service::{
    MemorySetting, Outcome, WorkerCommand, WorkerLimits, WorkerPriority, Workers,
};
use assetfs_engine::job::{Badge, DrawTask, ICON_NAME, Task, badged, icon_of_thumbnail};

use super::exit::{Exit, WrongUse};
use super::interrupts;
use super::optimize::input::Model;
use super::optimize::runtime;

/// The picture of a model on a drive; the name of a later part ends in `.` and its offset.
const THUMBNAIL: &str = "user.assetfs.thumbnail";
/// Every model of a drive has this attribute.
const STATE: &str = "user.assetfs.state";
/// The longest value of an attribute that the kernel passes.
const MAX_VALUE_BYTES: usize = 64 << 10;
/// A larger picture is no thumbnail.
const MAX_PICTURE_BYTES: usize = 8 << 20;

/// What the engine may use for one picture: a file manager waits for it, and for the next.
const MEMORY_BYTES: u64 = 4_000_000_000;
const WALL: Duration = Duration::from_secs(30);
const CPU: Duration = Duration::from_secs(60);

/// Draw a small picture of a model, for file managers
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs thumbnail -s 256 chair.glb chair.png\n\
    Example: assetfs thumbnail --setup\n\
    Example: assetfs thumbnail --remove-setup\n\
    On a drive the picture is the service's thumbnail, and the model is not downloaded.\n\
    A model that cannot be drawn within 30 seconds has no picture.")]
pub(super) struct ThumbnailArgs {
    /// Model file (glb, gltf, fbx, obj, ply, stl, usdz, usdc, usda, usd, step, stp, iges, igs, brep, zip); on a drive also
    /// the folder of a model. A path or a file: URI
    #[arg(value_name = "IN", required_unless_present_any = ["setup", "remove_setup"])]
    model: Option<String>,
    /// PNG file to write; a path or a file: URI
    #[arg(value_name = "OUT", required_unless_present_any = ["setup", "remove_setup"])]
    out: Option<String>,
    /// Pixels on the longer side
    #[arg(long, short, default_value = "128", value_parser = parse_size)]
    size: u16,
    /// Let the file managers of this user show pictures of models; a package does it for all users
    #[arg(long, conflicts_with_all = ["model", "out"])]
    setup: bool,
    /// Remove what --setup wrote
    #[arg(long, conflicts_with_all = ["model", "out", "setup"])]
    remove_setup: bool,
}

/// The sizes that can be asked for.
const SIZES: RangeInclusive<u16> = 16..=1024;

fn parse_size(text: &str) -> Result<u16, String> {
    let size = text.parse().ok().filter(|size| SIZES.contains(size));
    size.ok_or_else(|| {
        let (least, most) = (SIZES.start(), SIZES.end());
        format!("write a whole number from {least} to {most}")
    })
}

pub(super) fn run(args: &ThumbnailArgs) -> Result<Exit> {
    let (Some(model), Some(out)) = (&args.model, &args.out) else {
        return match args.remove_setup {
            true => setup::remove(),
            false => setup::run(),
        };
    };
    let (model, out) = (path_of(model)?, path_of(out)?);
    let same = model.canonicalize().ok().zip(out.canonicalize().ok());
    if same.is_some_and(|(model, out)| model == out) {
        let message = format!("{} is the model itself; name another OUT", out.display());
        return Err(WrongUse(message).into());
    }
    let badge = attribute(&model, STATE)?.and_then(|word| badge_of(&word));
    let png = match (picture_of(&model, args.size), badge) {
        (Ok(png), None) => png,
        (Ok(png), Some(badge)) => badged(Some(&png), args.size.into(), badge)?,
        // The sign says more than no picture.
        (Err(_), Some(badge)) => badged(None, args.size.into(), badge)?,
        (Err(error), None) => return Err(error),
    };
    std::fs::write(&out, png).with_context(|| format!("cannot write {}", out.display()))?;
    Ok(Exit::Done)
}

/// The sign for a state in which a model does not go on without somebody, or waits for something.
fn badge_of(word: &[u8]) -> Option<Badge> {
    match StatusWord::from_word(std::str::from_utf8(word).ok()?.trim()) {
        StatusWord::Failed => Some(Badge::Failed),
        word if word.is_held_up() => Some(Badge::Waits),
        _ => None,
    }
}

/// The picture of a model: the service's, or drawn.
fn picture_of(model: &Path, size: u16) -> Result<Vec<u8>> {
    Ok(match picture_on_drive(model)? {
        Some(jpeg) => icon_of_thumbnail(&jpeg, u32::from(size)).with_context(|| {
            format!(
                "the service's picture of {} cannot be read",
                model.display()
            )
        })?,
        None => drawn(model, size)?,
    })
}

/// A path, or the path of a `file:` URI.
fn path_of(text: &str) -> Result<PathBuf> {
    if !text.starts_with("file:") {
        return Ok(PathBuf::from(text));
    }
    let path = Url::parse(text)
        .ok()
        .and_then(|uri| uri.to_file_path().ok());
    path.ok_or_else(|| WrongUse(format!("{text} is not the URI of a file on this machine")).into())
}

/// The service's picture of a model; `None` if it is to be drawn.
fn picture_on_drive(model: &Path) -> Result<Option<Vec<u8>>> {
    let unreadable = || format!("the picture of {} cannot be read", model.display());
    let Some(mut picture) = attribute(model, THUMBNAIL).with_context(unreadable)? else {
        return Ok(None);
    };
    if picture.is_empty() {
        bail!(
            "the service has no picture of {} yet, and the model is not downloaded for one",
            model.display()
        );
    }
    while picture.len() <= MAX_PICTURE_BYTES {
        let name = format!("{THUMBNAIL}.{}", picture.len());
        match attribute(model, &name).with_context(unreadable)? {
            Some(part) if !part.is_empty() => picture.extend(part),
            _ => return Ok(Some(picture)),
        }
    }
    bail!(
        "the picture of {} has more than {} MB",
        model.display(),
        MAX_PICTURE_BYTES >> 20
    )
}

/// The value of an extended attribute; `None` if the file has none of this name.
fn attribute(path: &Path, name: &str) -> Result<Option<Vec<u8>>> {
    let mut value = vec![0; MAX_VALUE_BYTES];
    match rustix::fs::getxattr(path, name, &mut value) {
        Ok(len) => {
            value.truncate(len);
            Ok(Some(value))
        }
        // What is missing is reported when it is read.
        Err(Errno::NODATA | Errno::NOTSUP | Errno::NOENT) => Ok(None),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

/// Draws a model in a worker process; returns the PNG.
fn drawn(path: &Path, size: u16) -> Result<Vec<u8>> {
    if path.is_dir() && attribute(path, STATE)?.is_none() {
        bail!(
            "{} is not the folder of a model on a drive, so it has no picture",
            path.display()
        );
    }
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let model = Model::find(path, scratch.path())?;
    let task = Task::Draw(DrawTask {
        input_dir: model.dir,
        files: model.files,
        output_dir: scratch.path().to_owned(),
        size: size.into(),
    });
    let program = std::env::current_exe().context("cannot find the program itself")?;
    let worker = WorkerCommand {
        program,
        args: vec!["engine-worker".into()],
    };
    let limits = WorkerLimits {
        memory_bytes: MEMORY_BYTES,
        cpu: CPU,
        wall: WALL,
        attempts: 1,
        memory_setting: MemorySetting::Fixed,
        priority: WorkerPriority::Job,
    };
    let stop = CancellationToken::new();
    let outcome = runtime()?.block_on(async {
        interrupts::cancel_at_signal(&stop)?;
        let workers = Workers::start(worker, limits)?;
        let cannot = || format!("cannot draw {}", model.shown);
        workers.run(&task, |_| {}, &stop).await.with_context(cannot)
    })?;
    match outcome {
        Outcome::Done(_) => std::fs::read(scratch.path().join(ICON_NAME))
            .with_context(|| format!("the worker made no picture of {}", model.shown)),
        Outcome::Failed(failure) => bail!("cannot draw {}: {}", model.shown, failure.reason),
        Outcome::Stopped => bail!("interrupted; nothing was written"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_the_formats_that_are_read() {
        use super::super::optimize::OptimizeArgs;
        use clap::Args as _;
        let read: Vec<&str> = assetfs_formats::read().collect();
        let formats = format!("({}, zip)", read.join(", "));
        let command = clap::Command::new("test");
        for (command, id) in [
            (ThumbnailArgs::augment_args(command.clone()), "model"),
            (OptimizeArgs::augment_args(command), "model"),
        ] {
            let model = command.get_arguments().find(|it| it.get_id() == id);
            let help = model.unwrap().get_help().unwrap().to_string();
            assert!(help.contains(&formats), "{help}: {formats}");
        }
    }

    #[test]
    fn what_needs_somebody_has_a_sign_and_what_goes_on_has_none() {
        for (word, expected) in [
            ("failed", Some(Badge::Failed)),
            ("missing_files", Some(Badge::Waits)),
            ("needs_files", Some(Badge::Waits)),
            ("waiting", Some(Badge::Waits)),
            ("settling", None),
            ("uploading", None),
            ("complete", None),
            ("done", None),
            ("of_a_later_version", None),
        ] {
            assert_eq!(badge_of(word.as_bytes()), expected, "{word}");
        }
    }

    #[test]
    fn a_path_and_the_uri_of_a_file_are_read() {
        for (text, path) in [
            ("chair.glb", "chair.glb"),
            ("/a b/chair.glb", "/a b/chair.glb"),
            ("file:///a%20b/ch%C3%A4ir.glb", "/a b/chäir.glb"),
            ("100%25.glb", "100%25.glb"),
        ] {
            assert_eq!(path_of(text).unwrap(), Path::new(path), "{text}");
        }
        assert!(path_of("file://elsewhere/chair.glb").is_err());
    }
}
