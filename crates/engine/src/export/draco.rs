//! Packs a geometry with Draco.
//!
//! The packed data is unpacked again at once: counts and bounds in the file are those that a reader finds, and a
//! geometry that Draco changes too much is written unpacked instead.

use draco_core::{
    DataType, DecoderBuffer, EncoderBuffer, EncoderOptions, GeometryAttributeType, Mesh,
    MeshDecoder, MeshEncoder, PointAttribute,
};

use super::super::document::ComponentType;
use super::super::scene::{Attribute, Geometry, Mode};

/// A packed geometry.
pub(super) struct Packed {
    pub(super) bytes: Vec<u8>,
    /// Points after unpacking.
    pub(super) points: usize,
    /// Triangles after unpacking.
    pub(super) triangles: usize,
    /// Least and greatest position after unpacking.
    pub(super) bounds: ([f32; 3], [f32; 3]),
}

/// Packs a geometry; `None` if Draco cannot represent it.
pub(super) fn pack(geometry: &Geometry) -> Option<Packed> {
    let is_plain = geometry.mode == Mode::Triangles
        && geometry.targets.is_empty()
        && geometry
            .attributes
            .iter()
            .all(|attribute| attribute.components <= 4);
    if !is_plain {
        return None;
    }
    let mut mesh = Mesh::new();
    mesh.set_num_points(geometry.vertex_count());
    let mut options = EncoderOptions::new();
    for attribute in &geometry.attributes {
        let id = mesh.add_attribute(point_attribute(attribute));
        if stored_as(attribute) == DataType::Float32 {
            options.set_attribute_quantization(id, quantization_bits(&attribute.name));
        }
    }
    mesh.set_num_faces(geometry.triangle_count());
    mesh.set_faces_from_flat_indices(&geometry.indices);
    let mut encoder = MeshEncoder::new();
    encoder.set_mesh(mesh);
    let mut buffer = EncoderBuffer::new();
    encoder.encode(&options, &mut buffer).ok()?;
    unpacked(buffer.data().to_vec())
}

fn unpacked(bytes: Vec<u8>) -> Option<Packed> {
    let mut mesh = Mesh::new();
    MeshDecoder::new()
        .decode(&mut DecoderBuffer::new(&bytes), &mut mesh)
        .ok()?;
    let points = mesh.num_points();
    let positions = mesh
        .named_attribute(GeometryAttributeType::Position)?
        .read_f32s(points, 3);
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for position in positions.chunks_exact(3) {
        for axis in 0..3 {
            min[axis] = min[axis].min(position[axis]);
            max[axis] = max[axis].max(position[axis]);
        }
    }
    (mesh.num_faces() > 0).then(|| Packed {
        triangles: mesh.num_faces(),
        points,
        bounds: (min, max),
        bytes,
    })
}

/// The data type in which an attribute is passed to Draco: integers for joints, floats for all others.
pub(super) fn stored_as(attribute: &Attribute) -> DataType {
    let is_whole = !attribute.storage.normalized;
    match attribute.storage.component {
        ComponentType::U8 if is_whole => DataType::Uint8,
        ComponentType::U16 if is_whole => DataType::Uint16,
        _ => DataType::Float32,
    }
}

fn point_attribute(attribute: &Attribute) -> PointAttribute {
    let stored = stored_as(attribute);
    let mut point_attribute = PointAttribute::new();
    point_attribute.init(
        kind_of(&attribute.name),
        attribute.components as u8,
        stored,
        false,
        attribute.count(),
    );
    let bytes: Vec<u8> = match stored {
        DataType::Uint8 => attribute
            .values
            .iter()
            .map(|number| *number as u8)
            .collect(),
        DataType::Uint16 => attribute
            .values
            .iter()
            .flat_map(|number| (*number as u16).to_le_bytes())
            .collect(),
        _ => attribute
            .values
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect(),
    };
    point_attribute.buffer_mut().write(0, &bytes);
    point_attribute
}

fn kind_of(name: &str) -> GeometryAttributeType {
    match name.split('_').next().unwrap_or_default() {
        "POSITION" => GeometryAttributeType::Position,
        "NORMAL" => GeometryAttributeType::Normal,
        "TEXCOORD" => GeometryAttributeType::TexCoord,
        "COLOR" => GeometryAttributeType::Color,
        _ => GeometryAttributeType::Generic,
    }
}

/// Bits of quantization: without quantization files are several times larger, with fewer bits the loss is visible.
fn quantization_bits(name: &str) -> i32 {
    match name.split('_').next().unwrap_or_default() {
        "POSITION" => 14,
        "NORMAL" | "TANGENT" => 10,
        "COLOR" => 10,
        _ => 12,
    }
}
