//! Settings of a mount: flags, then `ASSETFS_*` variables, then the profile in
//! `$XDG_CONFIG_HOME/assetfs/config.toml`, then defaults. Clap merges the first two; this module
//! reads the file, and parses sizes and times with units.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::exit::WrongUse;
use crate::given_files;

/// The contents of the configuration file; keys are named like the flags.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Profile {
    pub(super) local: Option<bool>,
    pub(super) base_url: Option<String>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) read_only: Option<bool>,
    pub(super) no_delete: Option<bool>,
    pub(super) delete_limit: Option<u32>,
    pub(super) cache_size: Option<ByteSize>,
    pub(super) cache_dir: Option<PathBuf>,
    pub(super) shared_cache: Option<String>,
    pub(super) shared_cache_size: Option<ByteSize>,
    pub(super) state_dir: Option<PathBuf>,
    pub(super) settle: Option<Span>,
    pub(super) refresh: Option<Span>,
    pub(super) allow_other: Option<bool>,
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
    pub(super) umask: Option<PermissionMask>,
    pub(super) dmask: Option<PermissionMask>,
    pub(super) fmask: Option<PermissionMask>,
    pub(super) allow_insecure: Option<bool>,
    pub(super) log_file: Option<PathBuf>,
    pub(super) webhook_listen: Option<SocketAddr>,
    pub(super) webhook_url: Option<String>,
    pub(super) limit_up: Option<ByteRate>,
    pub(super) limit_down: Option<ByteRate>,
    pub(super) made_by: Option<String>,
    pub(super) notify: Option<bool>,
    pub(super) no_notify: Option<bool>,
    pub(super) no_inotify: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ConfigFile {
    profiles: BTreeMap<String, toml::Table>,
    #[serde(flatten)]
    top: toml::Table,
}

/// The named profile of the configuration file, merged over the file's top-level settings. A missing file counts as
/// empty. A missing profile is an error.
pub(super) fn load_profile(name: Option<&str>) -> Result<Profile> {
    let folder = config_dir()?;
    let path = folder.join("config.toml");
    let text = match given_files::read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let profile = parse_profile(&text, name).and_then(|profile| profile.with_whole_paths(&folder));
    profile.with_context(|| format!("in {}", path.display()))
}

impl Profile {
    /// True if it says which account.
    pub(super) fn names_account(&self) -> bool {
        self.local == Some(true) || self.base_url.is_some()
    }

    /// Makes the paths independent of where a command is started: `~/` is the home folder, and a relative path begins in
    /// the folder of the configuration file.
    fn with_whole_paths(mut self, folder: &Path) -> Result<Profile> {
        let paths = [
            &mut self.token_file,
            &mut self.cache_dir,
            &mut self.state_dir,
            &mut self.log_file,
        ];
        for path in paths.into_iter().flatten() {
            *path = whole_path(path, folder)?;
        }
        if let Some(shared) = self.shared_cache.as_mut().filter(|it| !it.contains("://")) {
            let path = whole_path(Path::new(shared), folder)?;
            *shared = path.to_string_lossy().into_owned();
        }
        Ok(self)
    }
}

fn whole_path(path: &Path, folder: &Path) -> Result<PathBuf> {
    let mut parts = path.components();
    let first = parts.next().map(|part| part.as_os_str().as_encoded_bytes());
    match first {
        Some(b"~") => Ok(home_dir()?.join(parts.as_path())),
        Some([b'~', ..]) => anyhow::bail!(
            "{}: the home folder of another user has to be written out; `~/` is your own",
            path.display()
        ),
        _ => Ok(folder.join(path)),
    }
}

fn parse_profile(text: &str, name: Option<&str>) -> Result<Profile> {
    let ConfigFile { profiles, top } = toml::from_str(text)?;
    let mut merged = top;
    check_values(&merged)?;
    for (name, own) in &profiles {
        check_values(own).with_context(|| format!("in the profile `{name}`"))?;
    }
    if let Some(name) = name {
        let Some(own) = profiles.get(name) else {
            let known: Vec<_> = profiles.keys().map(String::as_str).collect();
            return Err(WrongUse(format!(
                "there is no profile `{name}`; known: {}",
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            ))
            .into());
        };
        // The account of the profile replaces the other kind of account at the top.
        for (named, replaced) in [("local", "base_url"), ("base_url", "local")] {
            if own.contains_key(named) {
                merged.remove(replaced);
            }
        }
        merged.extend(own.clone());
    }
    Ok(merged.try_into()?)
}

/// Refuses a key or a value that the program cannot use, with the key.
fn check_values(table: &toml::Table) -> Result<()> {
    for (key, value) in table {
        let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
        if let Err(error) = alone.try_into::<Profile>() {
            let why = in_plain_words(error.message());
            anyhow::bail!("`{key} = {value}` cannot be used: {why}");
        }
    }
    Ok(())
}

/// What the parser says about a value, in words of the documentation.
fn in_plain_words(message: &str) -> String {
    // What it found is in the sentence already.
    let expected = match message.split_once(", expected ") {
        Some((found, expected)) if found.starts_with("invalid ") => expected,
        _ => message,
    };
    match expected {
        "u32" => "write a whole number, like 20".to_owned(),
        "a boolean" => "write true or false".to_owned(),
        "a string" | "path string" => "write a text in quotes".to_owned(),
        "invalid socket address syntax" | "socket address" => {
            "write an address with a port in quotes, like \"127.0.0.1:9100\"".to_owned()
        }
        other => other
            .replace("unknown field", "there is no key")
            .replace(", expected one of", "; the keys are"),
    }
}

/// Permissions that are taken away, in octal: `022`. In the configuration file it is a string, because TOML numbers cannot
/// begin with a zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct PermissionMask(pub(super) u16);

impl FromStr for PermissionMask {
    type Err = String;

    fn from_str(text: &str) -> Result<PermissionMask, String> {
        match u16::from_str_radix(text, 8) {
            Ok(mask) if mask <= 0o777 => Ok(PermissionMask(mask)),
            _ => Err(format!("`{text}` is not a mask of permissions, like 022")),
        }
    }
}

impl TryFrom<String> for PermissionMask {
    type Error = String;

    fn try_from(text: String) -> Result<PermissionMask, String> {
        text.parse()
    }
}

/// A number of bytes, written as `512M`, `20G`, `1.5GiB` or plain. `G` is what messages call GB, a power of 1000; `GiB` is one of
/// 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct ByteSize(pub(super) u64);

/// Larger than every disk, and sums of a few do not overflow.
const MAX_SIZE: f64 = 1e18;

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<ByteSize, String> {
        let wrong = || format!("`{text}` is not a size; write it like 500M, 20G or 1.5T");
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, unit) = text.trim().split_at(end.min(text.trim().len()));
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let unit = unit.trim().to_ascii_uppercase();
        let (unit, base) = match unit.strip_suffix("IB") {
            Some(unit) => (unit, 1024_f64),
            None => (unit.trim_end_matches('B'), 1000_f64),
        };
        let power = match unit {
            "" => 0,
            "K" => 1,
            "M" => 2,
            "G" => 3,
            "T" => 4,
            _ => return Err(wrong()),
        };
        let bytes = number * base.powi(power);
        if bytes > MAX_SIZE {
            return Err(format!(
                "`{text}` is too large; the largest size is 1000000T"
            ));
        }
        Ok(ByteSize(bytes as u64))
    }
}

impl TryFrom<toml::Value> for ByteSize {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<ByteSize, String> {
        text_of(&value)?.parse()
    }
}

/// A number of bytes per second, written as a [`ByteSize`]; 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct ByteRate(pub(super) Option<NonZeroU64>);

/// With less than this the many files of a model would time out.
const MIN_RATE: u64 = 64_000;

impl FromStr for ByteRate {
    type Err = String;

    fn from_str(text: &str) -> Result<ByteRate, String> {
        let ByteSize(bytes) = text.parse()?;
        match NonZeroU64::new(bytes) {
            Some(rate) if rate.get() < MIN_RATE => {
                let least = MIN_RATE / 1000;
                Err(format!(
                    "the lowest limit is {least}K a second; 0 is no limit"
                ))
            }
            rate => Ok(ByteRate(rate)),
        }
    }
}

impl TryFrom<toml::Value> for ByteRate {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<ByteRate, String> {
        text_of(&value)?.parse()
    }
}

/// The longest span that is accepted, so that adding a span to the present time never overflows.
const MAX_SPAN: Duration = Duration::from_secs(10 * 365 * 86_400);

/// A span of time, written as `10s`, `500ms`, `2m`, `1h` or plain seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct Span(pub(super) Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let wrong = || format!("`{text}` is not a time; write it like 500ms, 10s, 2m or 1h");
        let text = text.trim();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let number: f64 = text[..end].parse().map_err(|_| wrong())?;
        let factor = match text[end..].trim() {
            "ms" => 0.001,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return Err(wrong()),
        };
        match Duration::try_from_secs_f64(number * factor) {
            Ok(span) if span <= MAX_SPAN => Ok(Span(span)),
            // The number is not negative here, so a failed conversion means that it is too long.
            _ => Err(format!("`{text}` is too long; the longest time is 87600h")),
        }
    }
}

impl TryFrom<toml::Value> for Span {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Span, String> {
        text_of(&value)?.parse()
    }
}

fn text_of(value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        other => Err(format!("expected a number with a unit, found {other}")),
    }
}

pub(super) fn config_dir() -> Result<PathBuf> {
    base_dir("XDG_CONFIG_HOME", ".config")
}

/// The folder of drafts, journals and known listings, with a subfolder for each account.
pub(super) fn state_dir() -> Result<PathBuf> {
    base_dir("XDG_STATE_HOME", ".local/state")
}

/// The folder of cached blocks, with a subfolder for each account.
pub(super) fn cache_dir() -> Result<PathBuf> {
    base_dir("XDG_CACHE_HOME", ".cache")
}

/// The folder of the local service's records and files.
pub(super) fn local_service_dir() -> Result<PathBuf> {
    Ok(base_dir("XDG_DATA_HOME", ".local/share")?.join("service"))
}

/// Our folder in an XDG base directory, or in its default in the home folder (XDG Base Directory Specification;
/// relative values are ignored).
fn base_dir(variable: &str, default: &str) -> Result<PathBuf> {
    let base = match std::env::var_os(variable).map(PathBuf::from) {
        Some(path) if path.is_absolute() => path,
        _ => home_dir()?.join(default),
    };
    Ok(base.join("assetfs"))
}

pub(super) fn home_dir() -> Result<PathBuf> {
    std::env::home_dir()
        .filter(|home| home.is_absolute() && home != Path::new("/nonexistent"))
        .context(
            "there is no home folder; set HOME, or name the folders by --state-dir and --cache-dir",
        )
}

/// The folder that commands mean that are given none: `mount` mounts at it, and the others look for a drive there.
pub(super) fn usual_drive() -> Result<PathBuf> {
    Ok(home_dir()?.join("assets"))
}

/// Where `PATH` has a program.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut candidates = std::env::split_paths(&path).map(|dir| dir.join(name));
    candidates.find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("5", 5),
            ("1k", 1000),
            ("1.5G", 1_500_000_000),
            ("2GiB", 2 << 30),
            ("3 MB", 3_000_000),
            ("3 KiB", 3 << 10),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
        for (text, millis) in [("2", 2000), ("250ms", 250), ("1.5s", 1500), ("2m", 120_000)] {
            assert_eq!(
                text.parse(),
                Ok(Span(Duration::from_millis(millis))),
                "{text}"
            );
        }
        for long in ["5000000000000000h", "1e30h", "99999999999999999999999999s"] {
            assert!(long.parse::<Span>().is_err(), "{long}");
        }
        for large in ["99999999999999999T", "1000001T", "1e30"] {
            assert!(large.parse::<ByteSize>().is_err(), "{large}");
        }
        assert_eq!("1000000T".parse(), Ok(ByteSize(1_000_000_000_000_000_000)));
        assert!("ten".parse::<Span>().is_err() && "5X".parse::<ByteSize>().is_err());
        assert_eq!("0".parse(), Ok(ByteRate(None)));
        assert_eq!("2M".parse(), Ok(ByteRate(NonZeroU64::new(2_000_000))));
        assert!("1K".parse::<ByteRate>().unwrap_err().contains("64K"));
    }

    #[test]
    fn every_key_of_the_file_is_documented() {
        let page = include_str!("../../docs/semantics.md");
        let table = page.split("| key | value | default |").nth(1).unwrap();
        let rows = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'));
        let keys: Vec<&str> = rows
            .filter_map(|row| row.split('|').nth(1))
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
            .collect();
        for key in &keys {
            let value = match *key {
                "base_url" | "token_file" | "log_file" | "cache_dir" | "state_dir" => "\"x\"",
                "umask" | "dmask" | "fmask" => "\"027\"",
                "shared_cache" | "made_by" => "\"/farm\"",
                "webhook_url" => "\"http://x\"",
                "webhook_listen" => "\"127.0.0.1:1\"",
                "read_only" | "no_delete" | "allow_other" | "allow_insecure" | "local"
                | "notify" | "no_notify" | "no_inotify" => "true",
                _ => "1000000",
            };
            parse_profile(&format!("{key} = {value}"), None).unwrap();
        }
        let whole = format!("{:?}", Profile::default());
        assert_eq!(whole.matches(": None").count(), keys.len(), "{keys:?}");
    }

    #[test]
    fn a_mask_of_permissions_is_octal() {
        assert_eq!("027".parse(), Ok(PermissionMask(0o027)));
        for wrong in ["", "9", "1000", "rwx", "-1"] {
            wrong.parse::<PermissionMask>().unwrap_err();
        }
    }

    #[test]
    fn a_profile_stands_over_the_top_of_the_file() {
        let text = "cache_size = \"1G\"\nrefresh = 5\nlimit_up = \"1M\"\n[profiles.studio]\nbase_url = \"https://a.example\"\nrefresh = \"20s\"\nlimit_up = 0\n";
        let profile = parse_profile(text, Some("studio")).unwrap();
        assert_eq!(profile.base_url.as_deref(), Some("https://a.example"));
        assert_eq!(profile.cache_size, Some(ByteSize(1_000_000_000)));
        assert_eq!(profile.limit_up, Some(ByteRate(None)));
        assert_eq!(profile.refresh, Some(Span(Duration::from_secs(20))));
        assert_eq!(
            parse_profile(text, None).unwrap().refresh,
            Some(Span(Duration::from_secs(5)))
        );
        assert!(parse_profile(text, Some("other")).is_err());
        assert!(parse_profile("cache_sise = 1", None).is_err());
    }

    #[test]
    fn paths_of_the_file_do_not_depend_on_the_working_folder() {
        let text = "token_file = \"studio.token\"\ncache_dir = \"~/big/cache\"\nstate_dir = \"/var/state\"\n\
            log_file = \"~\"\nshared_cache = \"../farm\"\n";
        let folder = Path::new("/etc/assetfs");
        let whole = |text| parse_profile(text, None).unwrap().with_whole_paths(folder);
        let profile = whole(text).unwrap();
        let home = home_dir().unwrap();
        assert_eq!(profile.token_file, Some(folder.join("studio.token")));
        assert_eq!(profile.cache_dir, Some(home.join("big/cache")));
        assert_eq!(profile.state_dir, Some("/var/state".into()));
        assert_eq!(profile.log_file, Some(home));
        assert_eq!(
            profile.shared_cache.as_deref(),
            Some("/etc/assetfs/../farm")
        );
        let bucket = whole("shared_cache = \"s3://farm/cache\"").unwrap();
        assert_eq!(bucket.shared_cache.as_deref(), Some("s3://farm/cache"));
        let other = whole("cache_dir = \"~anna/cache\"")
            .unwrap_err()
            .to_string();
        assert!(other.contains("~anna/cache"), "{other}");
    }

    #[test]
    fn a_profile_names_another_account_than_the_top() {
        let text = "local = true\n[profiles.studio]\nbase_url = \"https://a.example\"\n";
        assert_eq!(parse_profile(text, None).unwrap().local, Some(true));
        let studio = parse_profile(text, Some("studio")).unwrap();
        assert_eq!((studio.local, studio.base_url.is_some()), (None, true));
        let text = "base_url = \"https://a.example\"\n[profiles.here]\nlocal = true\n";
        let here = parse_profile(text, Some("here")).unwrap();
        assert_eq!((here.local, here.base_url), (Some(true), None));
    }
}
