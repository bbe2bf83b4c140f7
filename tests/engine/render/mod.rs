//! The rasterizer through its front door: silhouettes, colours, masks, skins' rest pose, determinism.

mod scenes;
mod shapes;
mod surfaces;
mod visibility;
