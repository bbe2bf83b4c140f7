//! The options of `assetfs mount`.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::owner::OwnerArgs;
use crate::cli::account::AccountArgs;
use crate::cli::settings::{ByteRate, ByteSize, Span};

/// Mount an account as a drive
///
/// Returns when the drive answers. `--local` mounts the local service of this machine, which needs no network and no
/// account. On a terminal, this is also the default if no account is configured. A script must choose explicitly.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs mount ~/assets --local\n\
    Example: ASSETFS_TOKEN='17|…' assetfs mount ~/assets --base-url https://assets.example.com\n\
    For mount(8): ln -s $(command -v assetfs) /sbin/mount.fuse.assetfs\n\
    In /etc/fstab: local /mnt/assets fuse.assetfs allow_other,uid=1000,gid=1000 0 0\n\
    In /etc/fstab: https://assets.example.com /mnt/assets fuse.assetfs _netdev,allow_other,token_file=/etc/assetfs.token 0 0")]
pub(in crate::cli) struct MountArgs {
    /// Folder to mount at; created if its parent exists [default: ~/assetfs]
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
    /// Do not report to inotify what changes elsewhere
    #[arg(long, env = "ASSETFS_NO_INOTIFY")]
    pub(super) no_inotify: bool,
    /// Show a notification of the desktop at the end of each job; needs notify-send
    #[arg(long, env = "ASSETFS_NOTIFY")]
    pub(super) notify: bool,
    /// Options as in /etc/fstab, separated by commas
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    pub(super) options: Vec<String>,
    /// Stay in the foreground
    #[arg(long, short = 'f')]
    pub(super) foreground: bool,
    /// Set for the background process, which reads its plan from standard input
    #[arg(long, hide = true)]
    pub(in crate::cli) background_child: bool,
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
