//! Primitives packed by `KHR_draco_mesh_compression`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use draco_core::{DecoderBuffer, FaceIndex, Mesh, MeshDecoder};

use super::super::super::document::{AccessorInfo, Cursor, DocumentError};
use super::super::super::scene::{Attribute, Geometry, Mode};
use super::super::error::ImportError;
use super::GltfReader;
use super::attributes::{allowed_components, storage_of};
use super::geometry::taken;

impl GltfReader<'_> {
    /// The geometry of a packed primitive; the accessors declare only the types of its numbers.
    pub(super) fn read_draco(
        &mut self,
        primitive: &Cursor<'_>,
        at: &Cursor<'_>,
    ) -> Result<Geometry, ImportError> {
        let view = at.require("bufferView")?.number()?;
        let packed = self.document.view_bytes(view)?;
        let mesh = decode(&packed).map_err(|what| at.invalid(format!("is damaged: {what}")))?;
        let count = mesh.num_points();
        let ids = at.require("attributes")?;
        let accessors = primitive.require("attributes")?;
        let mut attributes = Vec::new();
        for name in accessors.members()?.keys() {
            let reference = accessors.require(name)?;
            let info = self.document.accessors().info(reference.number()?)?;
            if !allowed_components(name).contains(&info.element.components()) {
                let element = info.element.name();
                let what = format!("has elements of type {element}, which {name} cannot have");
                return Err(reference.invalid(what).into());
            }
            let values = match ids.get(name) {
                Some(id) => {
                    self.charge(count as u64 * info.element.components() as u64 * 4)?;
                    unpacked(&mesh, &id, &info, count)?
                }
                // An attribute may be stored outside of the packed data.
                None => self.numbers(&info, Some(count))?.to_vec(),
            };
            attributes.push(Attribute {
                name: name.clone(),
                components: info.element.components(),
                storage: storage_of(name, &info),
                values,
            });
        }
        attributes.sort_by_key(|attribute| attribute.name != "POSITION");
        let mut indices = Vec::with_capacity(mesh.num_faces() * 3);
        for face in 0..mesh.num_faces() {
            let corners = mesh.face(FaceIndex(face as u32)).map(|corner| corner.0);
            if corners.iter().any(|corner| *corner as usize >= count) {
                return Err(at.invalid("names a point that is not there").into());
            }
            indices.extend(corners);
        }
        let (targets, sparse_targets) = self.read_targets(primitive, count)?;
        let targets = targets
            .iter()
            .map(|wholes| wholes.iter().map(|whole| taken(whole, None)).collect())
            .collect();
        Ok(Geometry {
            mode: Mode::Triangles,
            indices,
            attributes,
            targets,
            sparse_targets,
        })
    }
}

fn decode(packed: &[u8]) -> Result<Mesh, String> {
    // The decoder should return an error for damaged data; a panic in it refuses the model as well.
    catch_unwind(AssertUnwindSafe(|| {
        let mut mesh = Mesh::new();
        let mut buffer = DecoderBuffer::new(packed);
        MeshDecoder::new()
            .decode(&mut buffer, &mut mesh)
            .map_err(|error| error.to_string())?;
        Ok(mesh)
    }))
    .unwrap_or_else(|_| Err("the Draco decoder failed".to_owned()))
}

fn unpacked(
    mesh: &Mesh,
    id: &Cursor<'_>,
    info: &AccessorInfo,
    count: usize,
) -> Result<Vec<f32>, DocumentError> {
    let unique_id = id.number()?;
    let attribute = u32::try_from(unique_id)
        .ok()
        .and_then(|unique_id| mesh.attribute_by_unique_id(unique_id))
        .ok_or_else(|| {
            id.invalid(format!(
                "is {unique_id}, which the packed data does not have"
            ))
        })?;
    let mut values = attribute.read_f32s(count, info.element.components());
    if info.normalized {
        for value in &mut values {
            *value = info.component.fraction(f64::from(*value)) as f32;
        }
    }
    Ok(values)
}
