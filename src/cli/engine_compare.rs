//! `assetfs engine-compare`: compares results of any program with their source. The engine reads and renders every
//! file, and one JSON line for each result goes to standard output. Used by the benchmark of the engine.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use assetfs_engine::import::{Imported, import};
use assetfs_engine::pictures::ModelPictures;
use assetfs_engine::scene::Scene;
use assetfs_engine::surface::Surface;

use super::Exit;

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
    let mut source = read(&args.source)?;
    let pictures = ModelPictures::draw(&source.scene);
    let surface = Surface::of(&source.scene);
    write_views(args, "source", &pictures)?;
    let moved = Moments::of(&mut source.scene);
    for (place, file) in args.results.iter().enumerate() {
        let mut result = read(file)?;
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
            "in_motion": moved.compare(&mut result.scene),
        });
        println!("{line}");
    }
    Ok(Exit::Done)
}

/// Pictures of a model at several moments of its animations.
struct Moments(Vec<(ModelPictures, Surface)>);

/// Number of moments.
const POSES: usize = 6;

impl Moments {
    fn of(scene: &mut Scene) -> Moments {
        let poses = scene.poses(POSES);
        let looks = poses.iter().map(|pose| {
            scene.in_pose(pose, |posed| {
                (ModelPictures::draw(posed), Surface::of(posed))
            })
        });
        Moments(looks.collect())
    }

    /// Mean difference and maximum distance of a result at the same moments; `null` if nothing moves or the
    /// animations differ.
    fn compare(&self, result: &mut Scene) -> Value {
        let poses = result.poses(POSES);
        if self.0.is_empty() || poses.len() != self.0.len() {
            return Value::Null;
        }
        let (mut flip, mut p99) = (0.0, 0.0f64);
        for (pose, (pictures, surface)) in poses.iter().zip(&self.0) {
            result.in_pose(pose, |posed| {
                let drawn = pictures.draw_where_it_is(posed);
                flip += pictures.compare(&drawn).mean_difference();
                let [there, back] = surface.distances(&Surface::of(posed));
                p99 = p99.max(there.p99).max(back.p99);
            });
        }
        json!({ "flip": flip / poses.len() as f64, "p99": p99 })
    }
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

fn write_views(args: &EngineCompareArgs, name: &str, pictures: &ModelPictures) -> Result<()> {
    if let Some(folder) = &args.views {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        pictures.write_views(folder, name)?;
    }
    Ok(())
}
