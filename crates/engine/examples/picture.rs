//! Draws a picture of a model.
//!
//!     cargo run --release -p assetfs-engine --example picture -- chair.glb chair.png

use std::error::Error;
use std::path::Path;

use assetfs_engine::{Model, RenderSettings, View, render};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [model, picture] = args.as_slice() else {
        return Err("give a model and the PNG file to write".into());
    };
    let settings = RenderSettings {
        size: 1024,
        sky_lights: 32,
        ..RenderSettings::default()
    };
    let drawn = render(&Model::open(model)?, View::ThreeQuarter, &settings)?;
    drawn.write_png(Path::new(picture))?;
    Ok(())
}
