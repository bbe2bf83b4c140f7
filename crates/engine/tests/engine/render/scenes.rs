//! Small scenes to draw, and the pixels of a picture.

use std::sync::Arc;

use assetfs_engine::render::{
    BoundingBox, Picture, PreparedScene, RenderInstance, RenderMaterial, RenderMesh, RenderScene,
    RenderSettings, RenderTexture, View,
};
use glam::{Mat4, Vec2, Vec3, Vec4};

pub const UNIT: BoundingBox = BoundingBox {
    low: Vec3::splat(-1.0),
    high: Vec3::splat(1.0),
};

pub fn settings(size: usize) -> RenderSettings {
    RenderSettings {
        size,
        samples: 2,
        background: None,
        ..RenderSettings::default()
    }
}

/// A box from -1 to 1 scaled by `half`, without normals.
pub fn cuboid(half: Vec3) -> RenderMesh {
    let mut mesh = RenderMesh::default();
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let normal = Vec3::AXES[axis] * side;
            let (u, v) = (
                Vec3::AXES[(axis + 1) % 3] * side,
                Vec3::AXES[(axis + 2) % 3],
            );
            let base = mesh.positions.len() as u32;
            for (a, b) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                mesh.positions.push((normal + u * a + v * b) * half);
            }
            mesh.indices
                .extend([0, 1, 2, 0, 2, 3].map(|corner| corner + base));
        }
    }
    mesh
}

/// A square in the plane z = `depth`, from -1 to 1, its texture the right way up for the front view.
pub fn card(depth: f32) -> RenderMesh {
    let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
    RenderMesh {
        positions: corners.map(|(x, y)| Vec3::new(x, y, depth)).to_vec(),
        normals: vec![Vec3::Z; 4],
        uvs: [
            corners
                .map(|(x, y)| Vec2::new(x * 0.5 + 0.5, 0.5 - y * 0.5))
                .to_vec(),
            vec![],
        ],
        indices: vec![0, 1, 2, 0, 2, 3],
        material: Some(0),
        ..RenderMesh::default()
    }
}

pub fn instance(mesh: usize, world: Mat4) -> RenderInstance {
    RenderInstance {
        mesh,
        world,
        name: format!("part {mesh}"),
    }
}

pub fn alone(
    mesh: RenderMesh,
    material: RenderMaterial,
    textures: Vec<RenderTexture>,
) -> RenderScene {
    RenderScene {
        meshes: vec![mesh],
        materials: vec![material],
        textures,
        instances: vec![instance(0, Mat4::IDENTITY)],
    }
}

pub fn unlit(color: Vec4) -> RenderMaterial {
    RenderMaterial {
        base_color: color,
        unlit: true,
        ..RenderMaterial::default()
    }
}

pub fn draw(scene: &RenderScene, view: View, size: usize) -> Picture {
    PreparedScene::new(scene).render(view, &UNIT, &settings(size))
}

pub fn pixel(picture: &Picture, x: usize, y: usize) -> [u8; 4] {
    let at = (y * picture.size + x) * 4;
    picture.rgba[at..at + 4].try_into().unwrap()
}

pub fn quarters() -> RenderTexture {
    let colors: [[u8; 4]; 4] = [
        [255, 0, 0, 255],
        [0, 255, 0, 255],
        [0, 0, 255, 255],
        [128, 128, 128, 255],
    ];
    let size = 64;
    let mut bytes = Vec::new();
    for y in 0..size {
        for x in 0..size {
            bytes.extend(colors[(y / 32) * 2 + x / 32]);
        }
    }
    RenderTexture {
        width: 64,
        height: 64,
        rgba: Arc::new(bytes),
    }
}
