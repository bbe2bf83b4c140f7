//! Export: from a scene to the bytes of files.
//!
//! Writers return files in memory; only the job writes them to disk. A warning names everything that a format cannot
//! hold.

mod accessor_content;
mod draco;
mod encoding;
mod error;
pub mod fbx;
mod flat;
mod format_limits;
pub mod gltf;
mod grey;
mod lit;
mod losses;
mod meshopt_views;
mod motion;
mod names;
pub mod obj;
mod out_file;
pub mod ply;
pub mod stl;
mod texture_places;
pub mod usdz;
mod view_use;
mod views;

pub use error::ExportError;
pub use flat::draws_triangles;
pub use losses::losses;
pub use names::{Names, safe};
pub use out_file::OutFile;
