//! Stands in for modules of this folder in builds without the feature `local-service`. Each of their commands is known, and
//! says what is missing.

/// A module with a command that takes any arguments and refuses to work.
macro_rules! command {
    ($module:ident, $Args:ident, $name:literal) => {
        pub(super) mod $module {
            use crate::cli::exit::Exit;
            use crate::cli::this_build::without_local_service;

            /// Not in this build of assetfs
            #[derive(Debug, clap::Args)]
            #[command(hide = true)]
            pub(in crate::cli) struct $Args {
                #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
                _given: Vec<std::ffi::OsString>,
            }

            pub(in crate::cli) fn run(_: &$Args) -> anyhow::Result<Exit> {
                Err(without_local_service(concat!("`assetfs ", $name, "`")).into())
            }
        }
    };
}

command!(demo, DemoArgs, "demo");
command!(engine_compare, EngineCompareArgs, "engine-compare");
command!(engine_worker, EngineWorkerArgs, "engine-worker");
command!(optimize, OptimizeArgs, "optimize");
command!(serve, ServeArgs, "serve");
command!(thumbnail, ThumbnailArgs, "thumbnail");

pub(super) mod local {
    //! The local service: it never runs, so its values do not exist.

    use std::path::Path;

    use anyhow::Result;

    use crate::cli::job_args::JobArgs;
    use crate::cli::this_build::without_local_service;
    use crate::client::Client;

    pub(in crate::cli) enum RunningService {}

    impl RunningService {
        pub(in crate::cli) fn base_url(&self) -> &url::Url {
            match *self {}
        }

        pub(in crate::cli) fn token(&self) -> &str {
            match *self {}
        }

        pub(in crate::cli) fn ends(&self) -> tokio::sync::broadcast::Receiver<crate::wire::Event> {
            match *self {}
        }

        pub(in crate::cli) async fn shutdown(self) {
            match self {}
        }
    }

    pub(in crate::cli) struct Started {
        pub(in crate::cli) service: RunningService,
        pub(in crate::cli) link: Option<String>,
        pub(in crate::cli) warning: Option<String>,
    }

    pub(in crate::cli) async fn start(
        _: &Path,
        _: &Path,
        _: Option<&Path>,
        _: &JobArgs,
    ) -> Result<Started> {
        Err(without_local_service("--local").into())
    }

    /// Reads nothing: a plan of faults is for the local service.
    pub(in crate::cli) fn read_plan(_: &Path) -> Result<()> {
        Err(without_local_service("--chaos").into())
    }

    pub(in crate::cli) enum Reached {}

    impl Reached {
        pub(in crate::cli) fn client(&self) -> &Client {
            match *self {}
        }
    }

    pub(in crate::cli) async fn sign_in_link(_: &Path) -> Result<String> {
        Err(without_local_service("`assetfs page`").into())
    }

    pub(in crate::cli) fn reach(_: &Path) -> Result<Reached> {
        Err(without_local_service("--local").into())
    }
}

pub(super) mod local_findings {
    //! The checks of `assetfs doctor` for the engine and the local service.

    use crate::cli::finding::{Finding, Verdict};
    use crate::cli::this_build::without_local_service;

    pub(in crate::cli) fn all() -> Vec<Finding> {
        vec![Finding {
            what: "Local service",
            verdict: Verdict::Advice(without_local_service("--local").0),
        }]
    }
}

pub(super) mod engine_settings {
    //! Only the engine knows the keys of configurations: here the service judges them.

    use serde_json::{Map, Value};

    pub(in crate::cli) fn check(_: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}

pub(super) mod watch_engine {
    //! The engine for `assetfs watch`, which works with `--drive` only.

    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use anyhow::Result;
    use tokio_util::sync::CancellationToken;

    use crate::cli::chosen_preset::Config;
    use crate::cli::progress::Progress;
    use crate::cli::this_build::without_local_service;

    #[derive(Debug, clap::Args)]
    pub(in crate::cli) struct EngineArgs {}

    #[derive(Debug, Clone)]
    pub(in crate::cli) enum EngineTurns {}

    #[derive(Debug)]
    pub(in crate::cli) enum EngineTurn {}

    #[derive(Debug)]
    pub(in crate::cli) enum UnkeptResult {}

    #[expect(dead_code, reason = "the engine reads them, and is not in this build")]
    #[derive(Debug, Clone, Copy)]
    pub(in crate::cli) struct TurnModel<'m> {
        pub(in crate::cli) path: &'m Path,
        pub(in crate::cli) source: &'m str,
        pub(in crate::cli) is_small: bool,
    }

    impl EngineTurns {
        pub(in crate::cli) fn new(
            _: &EngineArgs,
            _: Option<usize>,
            _: Duration,
            _: Option<PathBuf>,
        ) -> Result<EngineTurns> {
            Err(without_local_service("`assetfs watch` without --drive").into())
        }

        pub(in crate::cli) fn count(&self) -> usize {
            match *self {}
        }

        pub(in crate::cli) async fn wait(&self, _: TurnModel<'_>) -> EngineTurn {
            match *self {}
        }

        pub(in crate::cli) fn end_idle(&self) {
            match *self {}
        }
    }

    impl EngineTurn {
        pub(in crate::cli) async fn run(
            &mut self,
            _: &Config,
            _: (TurnModel<'_>, &Path),
            _: &Progress,
            _: &CancellationToken,
        ) -> Result<UnkeptResult> {
            match *self {}
        }
    }

    impl UnkeptResult {
        pub(in crate::cli) fn keep(self) -> Result<()> {
            match self {}
        }
    }
}
