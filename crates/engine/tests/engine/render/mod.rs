//! The rasterizer through its public interface: silhouettes, colours, masks, skins' rest pose, determinism.

mod crowds;
mod scenes;
mod shapes;
mod surfaces;
mod visibility;
