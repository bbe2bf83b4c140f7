//! Meshes: faces, points and what belongs to them.

use glam::{DMat4, Vec3};

use super::super::super::scene::{Bounds, Draw, Geometry};
use super::lines::Lines;
use super::skeleton::{UsdSkeleton, matrix, triple};

/// Writes the attributes of a mesh whose draw takes the space of the prim for the world. `tint` is multiplied with the
/// colours of vertices.
pub(super) fn write_geometry(text: &mut Lines, draw: &Draw, geometry: &Geometry, tint: [f32; 3]) {
    let positions = draw.world_positions(geometry);
    let mut bounds = None;
    for position in &positions {
        Bounds::grow(&mut bounds, *position);
    }
    if let Some(bounds) = bounds {
        let (min, max) = (bounds.min, bounds.max);
        text.line(&format!(
            "float3[] extent = [({}, {}, {}), ({}, {}, {})]",
            min.x, min.y, min.z, max.x, max.y, max.z
        ));
    }
    let faces = geometry.indices.len() / 3;
    text.list(
        "int[] faceVertexCounts = ",
        (0..faces).map(|_| "3".to_owned()),
    );
    let is_mirrored = draw.vertex_matrix(geometry, 0).determinant() < 0.0;
    let corners = geometry
        .indices
        .chunks_exact(3)
        .flat_map(|corners| match is_mirrored {
            true => [corners[0], corners[2], corners[1]],
            false => [corners[0], corners[1], corners[2]],
        });
    text.list(
        "int[] faceVertexIndices = ",
        corners.map(|corner| corner.to_string()),
    );
    text.list(
        "point3f[] points = ",
        positions
            .iter()
            .map(|at| format!("({}, {}, {})", at.x, at.y, at.z)),
    );
    write_normals(text, draw, geometry);
    write_coords(text, geometry);
    if let Some(colors) = geometry.attribute("COLOR_0") {
        text.list(
            "color3f[] primvars:displayColor = ",
            (0..colors.count()).map(|vertex| {
                let color = colors.at(vertex);
                triple([0, 1, 2].map(|part| f64::from(color[part] * tint[part])))
            }),
        );
        text.interpolated();
    }
}

fn write_normals(text: &mut Lines, draw: &Draw, geometry: &Geometry) {
    let Some(normals) = geometry.attribute("NORMAL") else {
        return;
    };
    let written = (0..normals.count()).map(|vertex| {
        let normal = Vec3::from_slice(normals.at(vertex));
        let normal = (draw.normal_matrix(geometry, vertex) * normal).normalize_or(Vec3::Y);
        format!("({}, {}, {})", normal.x, normal.y, normal.z)
    });
    let written: Vec<String> = written.collect();
    text.list("normal3f[] normals = ", written.into_iter());
    text.interpolated();
}

fn write_coords(text: &mut Lines, geometry: &Geometry) {
    for coords in &geometry.attributes {
        let set = coords.name.strip_prefix("TEXCOORD_");
        let Some(set) = set.and_then(|set| set.parse().ok()) else {
            continue;
        };
        let name = coord_name(set);
        let written: Vec<String> = coords
            .values
            .chunks_exact(2)
            .map(|uv| format!("({}, {})", uv[0], 1.0 - uv[1]))
            .collect();
        text.list(
            &format!("texCoord2f[] primvars:{name} = "),
            written.into_iter(),
        );
        text.interpolated();
    }
}

/// Writes the joints that move each vertex.
pub(super) fn write_influences(text: &mut Lines, skeleton: &UsdSkeleton, geometry: &Geometry) {
    let (joints, weights, width) = skeleton.influences(geometry);
    text.line(&format!(
        "matrix4d primvars:skel:geomBindTransform = {}",
        matrix(&DMat4::IDENTITY)
    ));
    let joints = joints.iter().map(usize::to_string);
    text.list("int[] primvars:skel:jointIndices = ", joints);
    text.described(&[
        &format!("elementSize = {width}"),
        "interpolation = \"vertex\"",
    ]);
    let weights = weights.iter().map(f32::to_string);
    text.list("float[] primvars:skel:jointWeights = ", weights);
    text.described(&[
        &format!("elementSize = {width}"),
        "interpolation = \"vertex\"",
    ]);
}

/// The primvar of a set of texture coordinates.
pub(super) fn coord_name(set: usize) -> String {
    match set {
        0 => "st".to_owned(),
        set => format!("st{set}"),
    }
}
