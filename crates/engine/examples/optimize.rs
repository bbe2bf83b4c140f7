//! Optimizes a model.
//!
//!     cargo run --release -p assetfs-engine --example optimize -- chair.glb out '{"limits":{"faces":{"count":5000}}}'

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]

use std::error::Error;
use std::path::Path;

use assetfs_engine::{Model, Settings, optimize};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (model, out, config) = match args.as_slice() {
        [model, out] => (model, out, "{}"),
        [model, out, config] => (model, out, config.as_str()),
        _ => {
            return Err(
                "give a model, a folder for the results and, if you like, a configuration".into(),
            );
        }
    };
    let settings: Settings = config.parse()?;
    let outcome = optimize(&Model::open(model)?, &settings)?;
    let report = outcome.report();
    for (path, file) in outcome.save(Path::new(out))?.iter().zip(&report.exports) {
        let score = file.quality.map_or(100.0, |quality| quality.avg_score);
        println!(
            "{}: {} bytes, similarity {score:.1} of 100",
            path.display(),
            file.size_bytes
        );
    }
    println!(
        "{} of {} triangles",
        report.result.triangles, report.source.triangles
    );
    for warning in &report.warnings {
        eprintln!("{warning}");
    }
    Ok(())
}
