//! The alpha of one triangle: for masks, and for what blended triangles hide. It is what [`InterpolatedPoint`](super::interpolate::InterpolatedPoint) says of a
//! sample, bit by bit, but all that is equal for the whole triangle is looked up once.

use glam::Vec2;

use super::coverage::{ScreenCorner, ScreenTriangle};
use super::interpolate::spread_of;
use super::projection::Projection;
use super::scene::RenderAlpha;
use super::texture::{Pyramid, Slot};

pub(super) struct TriangleAlpha<'a> {
    factor: f32,
    colors: [f32; 3],
    texture: Option<AlphaTexture<'a>>,
}

struct AlphaTexture<'a> {
    pyramid: &'a Pyramid,
    slot: &'a Slot,
    level: f32,
    uvs: [Vec2; 3],
}

impl<'a> TriangleAlpha<'a> {
    /// `corners` are those of the triangle on the screen.
    pub(super) fn new(
        projection: &Projection<'a>,
        triangle: u32,
        corners: &[ScreenCorner; 3],
    ) -> TriangleAlpha<'a> {
        let scene = projection.scene;
        let (part, at) = scene.in_part(triangle);
        let part = &scene.parts[part];
        let material = &scene.materials[part.mesh.material as usize];
        let texture = material.base_color.as_ref().map(|slot| {
            let set = slot.usage.uv_set;
            let spread = spread_of(part, at, set, projection.pixels(corners));
            AlphaTexture {
                pyramid: &scene.pyramids[slot.pyramid],
                slot,
                level: slot.level(spread),
                uvs: part.corner_uvs(at, set),
            }
        });
        TriangleAlpha {
            factor: material.plain.base_color.w,
            colors: part.corner_colors(at).map(|color| color.w),
            texture,
        }
    }

    /// The alpha at `weights` of the corners.
    pub(super) fn at(&self, weights: [f32; 3]) -> f32 {
        let [a, b, c] = weights;
        let colors = self.colors;
        let factor = self.factor * (0.0 + colors[0] * a + colors[1] * b + colors[2] * c);
        let Some(texture) = &self.texture else {
            return factor;
        };
        let uvs = texture.uvs;
        let uv = Vec2::ZERO + uvs[0] * a + uvs[1] * b + uvs[2] * c;
        let usage = &texture.slot.usage;
        let uv = usage.transform.transform_point2(uv);
        factor * texture.pyramid.sample(uv, texture.level, usage.wrap).w
    }
}

/// Where a masked triangle is not cut out.
pub(super) struct AlphaMask<'a> {
    limit: f32,
    alpha: TriangleAlpha<'a>,
}

impl<'a> AlphaMask<'a> {
    /// `corners` are those of the triangle on the screen.
    pub(super) fn new(
        projection: &Projection<'a>,
        triangle: u32,
        corners: &[ScreenCorner; 3],
    ) -> AlphaMask<'a> {
        let limit = match projection.scene.material_of(triangle).plain.alpha {
            RenderAlpha::Mask(limit) => limit,
            _ => f32::NEG_INFINITY,
        };
        AlphaMask {
            limit,
            alpha: TriangleAlpha::new(projection, triangle, corners),
        }
    }

    /// Whether the triangle is there at a sample.
    pub(super) fn passes(&self, setup: &ScreenTriangle, x: usize, y: usize) -> bool {
        self.alpha.at(setup.weights(x, y)) >= self.limit
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::{Mat4, Vec3, Vec4};

    use super::super::camera::{Camera, View};
    use super::super::coverage::Window;
    use super::super::prepare::PreparedScene;
    use super::super::projection::ShownTriangle;
    use super::super::scene::{
        RenderInstance, RenderMaterial, RenderMesh, RenderScene, RenderTexture, RenderTextureUse,
    };
    use super::*;

    const SIZE: usize = 64;

    /// A square in two triangles, with colours and a texture of many different alphas.
    fn leaf() -> RenderScene {
        let square = RenderMesh {
            positions: vec![Vec3::ZERO, Vec3::X, Vec3::new(1.0, 1.0, 0.4), Vec3::Y],
            uvs: [
                vec![
                    Vec2::ZERO,
                    Vec2::X * 1.7,
                    Vec2::new(1.7, 0.9),
                    Vec2::Y * 0.9,
                ],
                vec![],
            ],
            colors: (0..4)
                .map(|at| Vec4::splat(0.3 + at as f32 * 0.2))
                .collect(),
            indices: vec![0, 1, 2, 0, 2, 3],
            material: Some(0),
            ..RenderMesh::default()
        };
        let bytes = (0..16 * 16 * 4u32).map(|at| (at * 97 % 251) as u8);
        let texture = RenderTexture {
            width: 16,
            height: 16,
            rgba: Arc::new(bytes.collect()),
        };
        let instance = |x: f32| RenderInstance {
            mesh: 0,
            world: Mat4::from_translation(Vec3::X * x),
            name: String::new(),
        };
        RenderScene {
            meshes: vec![square],
            materials: vec![RenderMaterial {
                base_color: Vec4::splat(0.9),
                base_color_texture: Some(RenderTextureUse::new(0)),
                double_sided: true,
                ..RenderMaterial::default()
            }],
            textures: vec![texture],
            instances: vec![instance(0.0), instance(1.2)],
        }
    }

    #[test]
    fn alpha_has_the_bits_of_an_interpolated_point() {
        let scene = leaf();
        let bounds = scene.bounding_box().unwrap();
        let scene = PreparedScene::new(&scene);
        let camera = Camera::new(View::ThreeQuarter, &bounds);
        let projection = Projection::undrawn(&scene, &camera, SIZE, 2);
        let window = Window {
            left: 0,
            top: 0,
            width: 2 * SIZE,
            height: 2 * SIZE,
        };
        let mut samples = 0;
        for triangle in 0..4 {
            let shown = ShownTriangle::new(&projection, triangle).unwrap();
            let alpha = TriangleAlpha::new(&projection, triangle, &projection.corners(triangle));
            shown.setup.cover(&window, |_, x, y| {
                let weights = shown.setup.weights(x, y);
                let color = shown.point(weights).base_color(&scene, shown.material);
                assert_eq!(alpha.at(weights).to_bits(), color.w.to_bits());
                samples += 1;
            });
        }
        assert!(samples > 1_000, "{samples}");
    }
}
