//! The options of `assetfs mount`: the flags, and the table of those that `-o` sets. A new option is a field and a row here.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use super::owner::OwnerArgs;
use crate::cli::account::AccountArgs;
use crate::cli::job_args::JobArgs;
use crate::cli::settings::{ByteRate, ByteSize, Span};

/// Mount an account as a drive
///
/// Returns when the drive answers. `--local` mounts the local service of this machine, which needs no network and no
/// account. On a terminal, this is also the default if no account is configured. A script must choose explicitly.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs mount --local\n\
    Example: ASSETFS_TOKEN='17|…' assetfs mount ~/assets --base-url https://assets.example.com\n\
    For mount(8): ln -s $(command -v assetfs) /sbin/mount.fuse.assetfs\n\
    In /etc/fstab: local /mnt/assets fuse.assetfs allow_other,uid=1000,gid=1000 0 0\n\
    In /etc/fstab: https://assets.example.com /mnt/assets fuse.assetfs _netdev,allow_other,token_file=/etc/assetfs.token 0 0")]
pub(in crate::cli) struct MountArgs {
    /// Folder to mount at; created if its parent exists [default: ~/assets]
    pub(in crate::cli) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) account: AccountArgs,
    /// Refuse every change
    #[arg(long, env = "ASSETFS_READ_ONLY")]
    pub(super) read_only: bool,
    /// Refuse to delete on the service
    #[arg(long, env = "ASSETFS_NO_DELETE")]
    pub(super) no_delete: bool,
    /// How many models may be deleted a minute
    #[arg(long, env = "ASSETFS_DELETE_LIMIT", value_name = "N")]
    pub(super) delete_limit: Option<u32>,
    /// Maximum size of the cache [default: 20G]
    #[arg(long, env = "ASSETFS_CACHE_SIZE", value_name = "SIZE")]
    pub(super) cache_size: Option<ByteSize>,
    /// Folder of the cache [default: $XDG_CACHE_HOME/assetfs]
    #[arg(long, env = "ASSETFS_CACHE_DIR", value_name = "DIR")]
    pub(super) cache_dir: Option<PathBuf>,
    /// Cache below this one that many mounts of the account share: a folder, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME
    /// with the credentials in the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or
    /// AWS_SHARED_CREDENTIALS_FILE)
    #[arg(long, env = "ASSETFS_SHARED_CACHE", value_name = "DIR|URL")]
    pub(super) shared_cache: Option<String>,
    /// Maximum size of a folder of --shared-cache; the same for all mounts [default: 100G]
    #[arg(long, env = "ASSETFS_SHARED_CACHE_SIZE", value_name = "SIZE")]
    pub(super) shared_cache_size: Option<ByteSize>,
    /// Folder of drafts and journals [default: $XDG_STATE_HOME/assetfs]
    #[arg(long, env = "ASSETFS_STATE_DIR", value_name = "DIR")]
    pub(in crate::cli) state_dir: Option<PathBuf>,
    /// Folder of the local service's records [default: $XDG_DATA_HOME/assetfs/service]
    #[arg(long, env = "ASSETFS_DATA_DIR", value_name = "DIR")]
    pub(in crate::cli) data_dir: Option<PathBuf>,
    /// Inject the faults of this plan into the local service, for tests
    #[arg(long, value_name = "PLAN")]
    pub(super) chaos: Option<PathBuf>,
    #[command(flatten)]
    pub(super) jobs: JobArgs,
    /// How long a copied model must be unchanged before it is sent [default: 2s]
    #[arg(long, env = "ASSETFS_SETTLE", value_name = "TIME")]
    pub(super) settle: Option<Span>,
    /// Maximum age of a listing [default: 10s]
    #[arg(long, env = "ASSETFS_REFRESH", value_name = "TIME")]
    pub(super) refresh: Option<Span>,
    /// Bytes a second that all uploads together may send, such as 500K or 2M; 0 is no limit [default: 0]
    #[arg(long, env = "ASSETFS_LIMIT_UP", value_name = "SIZE")]
    pub(super) limit_up: Option<ByteRate>,
    /// Bytes a second that all downloads together may receive; reads from the cache do not count [default: 0]
    #[arg(long, env = "ASSETFS_LIMIT_DOWN", value_name = "SIZE")]
    pub(super) limit_down: Option<ByteRate>,
    /// Allow access by other users of this machine
    #[arg(long, env = "ASSETFS_ALLOW_OTHER")]
    pub(super) allow_other: bool,
    #[command(flatten)]
    pub(super) owner: OwnerArgs,
    /// Allow plain http to other machines; anybody in the network can then read the token
    #[arg(long, env = "ASSETFS_ALLOW_INSECURE")]
    pub(super) allow_insecure: bool,
    /// File for the log [default: standard error, or mount.log in the state folder]
    #[arg(long, env = "ASSETFS_LOG_FILE", value_name = "FILE")]
    pub(super) log_file: Option<PathBuf>,
    /// Address to receive events of the service at, such as 127.0.0.1:9100; ended jobs then show within a second
    #[arg(long, env = "ASSETFS_WEBHOOK_LISTEN", value_name = "ADDR")]
    pub(super) webhook_listen: Option<SocketAddr>,
    /// URL under which the service reaches that address [default: http://ADDR]
    #[arg(long, env = "ASSETFS_WEBHOOK_URL", value_name = "URL")]
    pub(super) webhook_url: Option<String>,
    /// Who is noted on what this mount sends, as `assetfs list` shows it; an empty text notes nothing [default: USER@MACHINE]
    #[arg(long, env = "ASSETFS_MADE_BY", value_name = "NAME")]
    pub(super) made_by: Option<String>,
    /// Do not report to inotify what changes elsewhere
    #[arg(long, env = "ASSETFS_NO_INOTIFY")]
    pub(super) no_inotify: bool,
    /// Show a notification of the desktop at the end of each job too, not only when a change is refused
    #[arg(long, env = "ASSETFS_NOTIFY")]
    pub(super) notify: bool,
    /// Show no notification of the desktop
    #[arg(long, env = "ASSETFS_NO_NOTIFY")]
    pub(super) no_notify: bool,
    /// Options as in /etc/fstab, separated by commas
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    pub(super) options: Vec<String>,
    /// Stay in the foreground
    #[arg(long, short = 'f')]
    pub(super) foreground: bool,
    /// Set for the background process, which reads its plan from standard input
    #[arg(long, hide = true)]
    pub(in crate::cli) background_child: bool,
    /// Allows a mount point that contains files; set by `-o nonempty`.
    #[arg(skip)]
    pub(super) cover_files: bool,
    /// The source in the mount table; set by the helper of mount(8).
    #[arg(skip)]
    pub(super) source: Option<String>,
    /// Checks everything and mounts nothing; set by the helper of mount(8).
    #[arg(skip)]
    pub(super) only_check: bool,
    /// Prints nothing on success; set by the helper of mount(8).
    #[arg(skip)]
    pub(super) quiet: bool,
}

/// What an option of `-o` does to the flags.
pub(super) enum SetFlag {
    /// It takes no value.
    Switch(fn(&mut MountArgs)),
    Value(fn(&mut MountArgs, &str) -> Result<(), String>),
}

use SetFlag::{Switch, Value};

/// Our options of `-o`.
#[rustfmt::skip]
pub(super) const FLAG_OPTIONS: &[(&str, SetFlag)] = &[
    ("allow_insecure", Switch(|args| args.allow_insecure = true)),
    ("allow_other", Switch(|args| args.allow_other = true)),
    ("local", Switch(|args| args.account.local = true)),
    ("no_delete", Switch(|args| args.no_delete = true)),
    ("no_inotify", Switch(|args| args.no_inotify = true)),
    ("no_notify", Switch(|args| args.no_notify = true)),
    ("nonempty", Switch(|args| args.cover_files = true)),
    ("ro", Switch(|args| args.read_only = true)),
    ("rw", Switch(|args| args.read_only = false)),
    ("base_url", Value(|args, value| set(&mut args.account.base_url, value))),
    ("cache_dir", Value(|args, value| set(&mut args.cache_dir, value))),
    ("cache_size", Value(|args, value| set(&mut args.cache_size, value))),
    ("data_dir", Value(|args, value| set(&mut args.data_dir, value))),
    ("delete_limit", Value(|args, value| set_as(&mut args.delete_limit, value, "a whole number, like 20"))),
    ("dmask", Value(|args, value| set(&mut args.owner.dmask, value))),
    ("fmask", Value(|args, value| set(&mut args.owner.fmask, value))),
    ("gid", Value(|args, value| set_as(&mut args.owner.gid, value, "the number of a group, like 1000"))),
    ("limit_down", Value(|args, value| set(&mut args.limit_down, value))),
    ("limit_up", Value(|args, value| set(&mut args.limit_up, value))),
    ("log_file", Value(|args, value| set(&mut args.log_file, value))),
    ("made_by", Value(|args, value| set(&mut args.made_by, value))),
    ("profile", Value(|args, value| set(&mut args.account.profile, value))),
    ("refresh", Value(|args, value| set(&mut args.refresh, value))),
    ("settle", Value(|args, value| set(&mut args.settle, value))),
    ("shared_cache", Value(|args, value| set(&mut args.shared_cache, value))),
    ("shared_cache_size", Value(|args, value| set(&mut args.shared_cache_size, value))),
    ("state_dir", Value(|args, value| set(&mut args.state_dir, value))),
    ("token_file", Value(|args, value| set(&mut args.account.token_file, value))),
    ("uid", Value(|args, value| set_as(&mut args.owner.uid, value, "the number of a user, like 1000"))),
    ("umask", Value(|args, value| set(&mut args.owner.umask, value))),
    ("webhook_listen", Value(|args, value| set_as(&mut args.webhook_listen, value, "an address with a port, like 127.0.0.1:9100"))),
    ("webhook_url", Value(|args, value| set(&mut args.webhook_url, value))),
];

impl SetFlag {
    /// The option of this name.
    pub(super) fn of_option(name: &str) -> Option<&'static SetFlag> {
        let mut options = FLAG_OPTIONS.iter();
        options.find_map(|(known, set)| (*known == name).then_some(set))
    }

    /// The names of all options, those with a value last.
    pub(super) fn options_in_words() -> String {
        let names = |has_value: bool| {
            let options = FLAG_OPTIONS.iter();
            let found = options.filter(move |(_, set)| matches!(set, Value(_)) == has_value);
            found.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        };
        format!("{} and {}", names(false), names(true))
    }
}

fn set<T: FromStr<Err: Display>>(flag: &mut Option<T>, value: &str) -> Result<(), String> {
    *flag = Some(value.parse().map_err(|error: T::Err| error.to_string())?);
    Ok(())
}

/// Sets flags of types whose own errors do not say how to write them.
fn set_as<T: FromStr>(flag: &mut Option<T>, value: &str, form: &str) -> Result<(), String> {
    *flag = Some(parse_as(value, form)?);
    Ok(())
}

pub(super) fn parse_as<T: FromStr>(value: &str, form: &str) -> Result<T, String> {
    // An error of such a type has nothing to add to the form.
    let parsed = value.parse();
    parsed.map_err(|_| format!("`{value}` is not {form}"))
}
