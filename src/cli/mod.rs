//! One file per command; builds and joins the parts. The only place that prints.
//!
//! Results go to standard output, everything else to standard error.

// Before the others, which use its macros.
#[macro_use]
mod printing;

mod account;
mod arguments;
mod at_once;
mod block_on;
mod bring;
mod budget;
mod build;
mod cache;
mod check;
mod chosen_preset;
mod completers;
mod connect;
mod control;
mod convert;
mod desktop_notice;
mod doctor;
mod doctor_passthrough;
mod dying;
mod embed;
mod event_log;
mod events;
mod exit;
mod exported_files;
mod files;
mod finding;
mod given_paths;
mod indexers;
mod inotify_helper;
mod interrupts;
mod job_args;
mod kept_tokens;
mod keyring;
mod list;
mod logging;
mod models_of_folder;
mod mount;
mod mount_source;
mod mounted;
mod open_files;
mod output;
mod page_link;
mod pages;
mod preset;
mod preset_list;
mod preset_names;
mod progress;
mod question;
mod record_log;
mod recover;
mod removal_limit;
mod replace;
mod result_facts;
mod result_warnings;
mod rm;
mod rotated_file;
mod run_presets;
mod run_stale;
mod samba;
mod secrets;
mod service_client;
mod settings;
mod sign_in;
mod status;
mod sync;
mod table;
mod tag;
mod this_build;
mod token;
mod unanswered;
mod unmount;
mod wait;
mod watch;
mod webhook;
mod why;

// What needs the engine or the local service, and what stands in for it in a build without them.
#[cfg(not(feature = "local-service"))]
mod absent;
#[cfg(feature = "local-service")]
mod allocator;
#[cfg(feature = "local-service")]
mod before_after;
#[cfg(feature = "local-service")]
mod demo;
#[cfg(feature = "local-service")]
mod engine_compare;
#[cfg(feature = "local-service")]
mod engine_settings;
#[cfg(feature = "local-service")]
mod engine_worker;
#[cfg(feature = "local-service")]
mod local;
#[cfg(feature = "local-service")]
mod local_findings;
#[cfg(feature = "local-service")]
mod optimize;
#[cfg(feature = "local-service")]
mod serve;
#[cfg(feature = "local-service")]
mod stores;
#[cfg(feature = "local-service")]
mod thumbnail;
#[cfg(feature = "local-service")]
mod watch_engine;
#[cfg(not(feature = "local-service"))]
use absent::{
    demo, engine_compare, engine_settings, engine_worker, local, local_findings, optimize, serve,
    thumbnail, watch_engine,
};

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::CompleteEnv;

#[cfg(feature = "local-service")]
pub use allocator::ProgramAllocator;
use interrupts::beside_main_thread;
use mount::mount_helper::Helper;

/// A drive for 3D assets: copy a model in, drop a preset, read the optimized model.
#[derive(Parser)]
#[command(
    name = "assetfs",
    version = env!("ASSETFS_VERSION"),
    about,
    after_help = "Example: assetfs mount ~/assets --local && cp -r chair ~/assets/rawmodels/\n\
                  Nothing at hand? `assetfs demo` shows the main job on a model of its own."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print JSON: an object a line, also for failures
    #[arg(long, global = true, alias = "jsonl")]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    Mount(Box<mount::MountArgs>),
    Unmount(unmount::UnmountArgs),
    Status(status::StatusArgs),
    Wait(wait::WaitArgs),
    List(list::ListArgs),
    Events(events::EventsArgs),
    Why(why::WhyArgs),
    Commit(control::CommitArgs),
    Cancel(control::CancelArgs),
    Retry(control::RetryArgs),
    Run(control::RunArgs),
    AllowDelete(control::AllowDeleteArgs),
    Convert(convert::ConvertArgs),
    Scale(control::ScaleArgs),
    Replace(replace::ReplaceArgs),
    Sync(sync::SyncArgs),
    Tag(tag::TagArgs),
    Embed(embed::EmbedArgs),
    Rm(rm::RmArgs),
    Recover(recover::RecoverArgs),
    Login(sign_in::LoginArgs),
    Logout(sign_in::LogoutArgs),
    Whoami(sign_in::WhoamiArgs),
    Token(token::TokenArgs),
    Webhook(webhook::WebhookArgs),
    Preset(preset::PresetArgs),
    Account(sign_in::AccountCommandArgs),
    Optimize(optimize::OptimizeArgs),
    Watch(watch::WatchArgs),
    Build(Box<build::BuildArgs>),
    Thumbnail(thumbnail::ThumbnailArgs),
    Pin(cache::PinArgs),
    Unpin(cache::UnpinArgs),
    Check(check::CheckArgs),
    Cache(cache::CacheArgs),
    Serve(Box<serve::ServeArgs>),
    Page(page_link::PageArgs),
    EngineWorker(Box<engine_worker::EngineWorkerArgs>),
    Samba(samba::SambaArgs),
    Demo(demo::DemoArgs),
    Doctor(doctor::DoctorArgs),
    Man(pages::ManArgs),
    Completions(pages::CompletionsArgs),

    #[command(hide = true)]
    InotifyHelper(inotify_helper::InotifyHelperArgs),
    #[command(hide = true)]
    DesktopNotice,
    #[command(hide = true)]
    EngineCompare(engine_compare::EngineCompareArgs),
}

impl Command {
    /// False for those that serve a drive or an account themselves, and for those that other commands start.
    fn waits_for_drives(&self) -> bool {
        !matches!(
            self,
            Command::Mount(_)
                | Command::Demo(_)
                | Command::Serve(_)
                | Command::EngineWorker(_)
                | Command::InotifyHelper(_)
                | Command::DesktopNotice
        )
    }
}

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    if let Some(line) = Helper::called_with(std::env::args_os().collect()) {
        return Helper::run(line);
    }
    // Drives know commands by this name, whatever the file of the program is called.
    let _ = std::fs::write("/proc/self/comm", env!("CARGO_PKG_NAME"));
    // Ends the process if a shell asks for completions.
    CompleteEnv::with_factory(Cli::command)
        .var(completers::VARIABLE)
        .complete();
    let Cli { command, json } = arguments::parse::<Cli>();
    output::choose_json(json);
    if command.waits_for_drives() {
        unanswered::begin();
    }
    let result = match command {
        Command::Mount(args) => mount::run(*args),
        Command::Unmount(args) => unmount::run(&args),
        Command::Status(args) => beside_main_thread(|| status::run(&args)),
        Command::Wait(args) => wait::run(&args),
        Command::List(args) => list::list(&args),
        Command::Events(args) => beside_main_thread(|| events::run(&args)),
        Command::Why(args) => why::run(&args),
        Command::Commit(args) => control::commit(&args),
        Command::Cancel(args) => control::cancel(&args),
        Command::Retry(args) => control::retry(&args),
        Command::Run(args) => control::run(&args),
        Command::AllowDelete(args) => control::allow_delete(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Scale(args) => control::scale(&args),
        Command::Replace(args) => replace::run(&args),
        Command::Sync(args) => sync::run(&args),
        Command::Tag(args) => tag::run(&args),
        Command::Embed(args) => embed::run(&args),
        Command::Rm(args) => rm::run(&args),
        Command::Recover(args) => recover::run(&args),
        Command::Login(args) => sign_in::login(&args),
        Command::Logout(args) => sign_in::logout(&args),
        Command::Whoami(args) => sign_in::whoami(&args),
        Command::Token(args) => token::token(&args),
        Command::Webhook(args) => webhook::webhook(&args),
        Command::Preset(args) => preset::preset(&args),
        Command::Account(args) => sign_in::account(&args),
        Command::Optimize(args) => beside_main_thread(|| optimize::run(&args)),
        Command::Watch(args) => beside_main_thread(|| watch::run(&args)),
        Command::Build(args) => beside_main_thread(|| build::run(&args)),
        Command::Thumbnail(args) => beside_main_thread(|| thumbnail::run(&args)),
        Command::Pin(args) => cache::pin(&args),
        Command::Unpin(args) => cache::unpin(&args),
        Command::Check(args) => check::run(&args),
        Command::Cache(args) => cache::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Samba(args) => samba::run(&args),
        Command::Page(args) => page_link::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Man(args) => pages::man(&args),
        Command::Completions(args) => pages::completions(&args),
        Command::EngineWorker(args) => engine_worker::run(&args),
        Command::InotifyHelper(args) => inotify_helper::run(&args),
        Command::DesktopNotice => desktop_notice::run(),
        Command::EngineCompare(args) => engine_compare::run(&args),
    };
    let exit = result.unwrap_or_else(|error| output::failed(None, &error));
    output::conclude(exit);
    exit.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        for command in Cli::command()
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
        {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                help.starts_with("Example"),
                "{} has no example",
                command.get_name()
            );
        }
    }
}
