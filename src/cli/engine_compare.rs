//! `assetfs engine-compare`: compares results of any program with their source. The engine reads and renders every
//! file, and one JSON line for each result goes to standard output. Used by the benchmark of the engine.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

use assetfs_engine::{Model, Reference};

use super::exit::Exit;

/// Compare models with their source (used by the benchmark)
#[derive(Debug, clap::Args)]
pub(super) struct EngineCompareArgs {
    /// The source model
    source: PathBuf,
    /// Results that were made from it
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// Write the six views of each model below this folder
    #[arg(long)]
    views: Option<PathBuf>,
}

pub(super) fn run(args: &EngineCompareArgs) -> Result<Exit> {
    let views = args.views.as_deref();
    if let Some(folder) = views {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut source = read(&args.source)?;
    let triangles = source.counts().triangles;
    let reference = Reference::new(&mut source, views)?;
    for (place, file) in args.results.iter().enumerate() {
        let mut result = read(file)?;
        let name = format!("result-{place}");
        let measured = reference.measure(&mut result, views.map(|folder| (folder, &name[..])))?;
        let counts = result.counts();
        let line = json!({
            "file": file.to_string_lossy(),
            "source_triangles": triangles,
            "triangles": counts.triangles,
            "bytes": counts.bytes,
            "flip": measured.flip,
            "score": measured.score,
            "worst_tile": measured.worst_tile,
            "there": measured.there,
            "back": measured.back,
            "in_motion": measured.in_motion,
        });
        println!("{line}");
    }
    Ok(Exit::Done)
}

fn read(file: &Path) -> Result<Model> {
    Model::open(file).with_context(|| format!("cannot read {}", file.display()))
}
