//! A 3D engine: reads models in the usual formats, optimizes, draws, compares and converts them. It knows no HTTP, no async and
//! no database, and opens no file but those of the model.
//!
//! [`Model::open`] reads a model. [`optimize`] makes it smaller and writes it, [`render`] draws it, [`compare`] tells how much
//! a result looks like its source, [`export`] converts it. All of them run on the calling thread, use all processors, and
//! return an [`EngineError`] whose text names the file and its fault; a panic of a library on a damaged file becomes one,
//! too. They have no limits of time or memory: models of strangers belong into a process that has.
//!
//! ```
//! use assetfs_engine::{FileFormat, Model, RenderSettings, Settings, View};
//! use assetfs_engine::{compare, export, optimize, render, sample};
//!
//! # let dir = tempfile::tempdir()?;
//! # let folder = dir.path();
//! // A small model with materials and textures; any file or folder will do.
//! sample::write_chair_with(folder, sample::ChairDetail::Small)?;
//! let chair = Model::open(folder)?;
//! assert_eq!(chair.format(), "gltf");
//!
//! let settings: Settings = r#"{ "limits": { "faces": { "percentage": 50 } } }"#.parse()?;
//! let outcome = optimize(&chair, &settings)?;
//! outcome.save(&folder.join("smaller"))?;
//!
//! let smaller = outcome.model()?;
//! assert!(smaller.counts().triangles <= chair.counts().triangles / 2);
//! println!("similarity {:.1} of 100", compare(&chair, &smaller)?.average_score());
//!
//! let settings = RenderSettings { size: 128, ..RenderSettings::default() };
//! render(&smaller, View::ThreeQuarter, &settings)?.write_png(&folder.join("smaller.png"))?;
//! for file in export(&smaller, FileFormat::Stl)? {
//!     std::fs::write(folder.join(&file.name), &file.bytes)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The program `assetfs` also uses [`job`] (the same work as plain data, for worker processes), [`settings`] (the table of
//! all keys), [`intake`] (zips), [`library_memory`], [`cad`] and [`sample`].

// The front door.
mod front;
pub use assetfs_formats::FileFormat;
pub use assetfs_formats::warnings::{Warning, WarningKind};
pub use compare::{ChangedPart, Comparison, Sheet, ViewComparison, WorstTile};
pub use error::EngineError;
pub use export::OutFile;
pub use front::{
    InMotion, Measures, Model, Outcome, Reference, before_and_after, compare, export, losses,
    optimize, render,
};
pub use render::{Picture, RenderSettings, View};
pub use settings::Settings;
pub use surface::Distances;

// What the program needs besides.
pub mod cad;
pub mod intake;
pub mod job;
pub mod library_memory;
pub mod sample;
pub mod settings;

// Without a promise: only the tests, benchmarks and fuzz targets of this repository use these from outside.
#[doc(hidden)]
pub mod analyse;
#[doc(hidden)]
pub mod clean;
#[doc(hidden)]
pub use assetfs_render::compare;
#[doc(hidden)]
pub mod document;
#[doc(hidden)]
pub mod export;
#[doc(hidden)]
pub mod import;
#[doc(hidden)]
pub mod pictures;
#[doc(hidden)]
pub mod rebake;
#[doc(hidden)]
pub mod render;
#[doc(hidden)]
pub mod scene;
#[doc(hidden)]
pub mod simplify;
#[doc(hidden)]
pub mod surface;
#[doc(hidden)]
pub mod textures;

mod alike;
mod caught;
mod error;
mod keyframes;
mod manipulate;
mod process_memory;
mod unwrap;
