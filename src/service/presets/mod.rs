//! The presets of the factory and what is said about presets in general.

mod factory;

pub use factory::{FACTORY, FactoryPreset, categories, factory};

/// The version of the optimizer.
pub const CORE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of the preset format.
pub const RPDX_VERSION: &str = "2.5";
