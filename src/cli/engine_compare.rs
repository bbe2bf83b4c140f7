//! `assetfs engine-compare`: how much results look like their source, whoever made them. Every file is
//! read and drawn by the engine; one JSON line for each result goes to standard output. Used by the
//! benchmark of the engine.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

use crate::engine::import::{Imported, import};
use crate::engine::pictures::ModelPictures;
use crate::engine::surface::Surface;

use super::Exit;

/// Compare models with their source (used by the benchmark)
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The source model
    source: PathBuf,
    /// Models made from it
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// Write the six views of each model below this folder
    #[arg(long)]
    views: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    let source = read(&args.source)?;
    let pictures = ModelPictures::draw(&source.scene);
    let surface = Surface::of(&source.scene);
    write_views(args, "source", &pictures)?;
    for (place, file) in args.results.iter().enumerate() {
        let result = read(file)?;
        let drawn = pictures.draw_where_it_is(&result.scene);
        write_views(args, &format!("result-{place}"), &drawn)?;
        let comparison = pictures.compare(&drawn);
        let [there, back] = surface.distances(&Surface::of(&result.scene));
        let line = json!({
            "file": file,
            "source_triangles": source.scene.drawn_triangles(),
            "triangles": result.scene.drawn_triangles(),
            "bytes": result.size_bytes,
            "flip": comparison.mean_difference(),
            "score": comparison.average_score(),
            "worst_tile": comparison.worst_tile().map_or(100.0, |(_, tile)| tile.score),
            "there": there,
            "back": back,
        });
        println!("{line}");
    }
    Ok(Exit::Done)
}

fn read(file: &Path) -> Result<Imported> {
    let name = file.file_name().context("a model is a file")?;
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let files = [name.to_string_lossy().into_owned()];
    import(folder.unwrap_or(Path::new(".")), &files)
        .with_context(|| format!("cannot read {}", file.display()))
}

fn write_views(args: &Args, name: &str, pictures: &ModelPictures) -> Result<()> {
    if let Some(folder) = &args.views {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        pictures.write_views(folder, name)?;
    }
    Ok(())
}
