//! Primitives and their geometry, plain or packed with Draco. Geometry that several primitives share is written once.

use serde_json::{Map, Value, json};

use super::super::super::scene::{Geometry, Mode, Primitive};
use super::super::super::settings::MeshCompression;
use super::super::draco;
use super::super::encoding::element_of;
use super::GltfWriter;

impl GltfWriter<'_> {
    pub(super) fn write_primitive(&mut self, primitive: &Primitive) -> Value {
        let mut json = match &self.written[primitive.geometry] {
            Some(written) => written.clone(),
            None => {
                self.views.begin_geometry(primitive.geometry);
                let written = self.write_geometry(primitive.geometry);
                self.written[primitive.geometry] = Some(written.clone());
                written
            }
        };
        if let Some(material) = primitive.material {
            json.insert("material".to_owned(), material.into());
        }
        for (key, member) in &primitive.json {
            match (json.get_mut(key), member) {
                // The geometry may already have written an extension.
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
                _ => {
                    json.insert(key.clone(), member.clone());
                }
            }
        }
        Value::Object(json)
    }

    fn write_geometry(&mut self, place: usize) -> Map<String, Value> {
        let geometry = &self.scene.geometries[place];
        if self.compression == MeshCompression::Draco
            && let Some(packed) = draco::pack(geometry)
        {
            return self.write_draco(geometry, packed);
        }
        let mut json = Map::new();
        let mut attributes = Map::new();
        for attribute in &geometry.attributes {
            let attribute = self.whole.stored(place, attribute);
            let accessor = self.views.add_attribute(&attribute);
            attributes.insert(attribute.name.clone(), accessor.into());
        }
        json.insert("attributes".to_owned(), Value::Object(attributes));
        let vertex_count = geometry.vertex_count();
        let in_order = geometry.indices.len() == vertex_count
            && geometry.indices.iter().copied().eq(0..vertex_count as u32);
        if !in_order {
            let are_triangles = geometry.mode == Mode::Triangles;
            let accessor = self
                .views
                .add_indices(&geometry.indices, vertex_count, are_triangles);
            json.insert("indices".to_owned(), accessor.into());
        }
        if geometry.mode != Mode::Triangles {
            json.insert("mode".to_owned(), geometry.mode.code().into());
        }
        if !geometry.targets.is_empty() {
            let targets = geometry.targets.iter().map(|target| {
                let members = target.iter().map(|attribute| {
                    let attribute = self.whole.stored(place, attribute);
                    let accessor = match geometry.sparse_targets {
                        true => self.views.add_sparse_attribute(&attribute),
                        false => self.views.add_plain_attribute(&attribute),
                    };
                    (attribute.name.clone(), accessor.into())
                });
                Value::Object(members.collect())
            });
            let targets = targets.collect();
            json.insert("targets".to_owned(), Value::Array(targets));
        }
        json
    }

    /// Writes accessors without data, which describe the packed data.
    fn write_draco(&mut self, geometry: &Geometry, packed: draco::Packed) -> Map<String, Value> {
        self.has_draco = true;
        let (mut attributes, mut ids) = (Map::new(), Map::new());
        for (id, attribute) in geometry.attributes.iter().enumerate() {
            let mut accessor = Map::new();
            let component = match draco::stored_as(attribute) {
                draco_core::DataType::Uint8 => 5121,
                draco_core::DataType::Uint16 => 5123,
                _ => 5126,
            };
            let element = element_of(attribute.components);
            accessor.insert("componentType".to_owned(), component.into());
            accessor.insert("count".to_owned(), packed.points.into());
            accessor.insert("type".to_owned(), element.name().into());
            if attribute.name == "POSITION" {
                accessor.insert("min".to_owned(), json!(packed.bounds.0));
                accessor.insert("max".to_owned(), json!(packed.bounds.1));
            }
            let accessor = self.views.add_accessor(accessor);
            attributes.insert(attribute.name.clone(), accessor.into());
            ids.insert(attribute.name.clone(), id.into());
        }
        let mut indices = Map::new();
        let component = if packed.points <= usize::from(u16::MAX) {
            5123
        } else {
            5125
        };
        indices.insert("componentType".to_owned(), component.into());
        indices.insert("count".to_owned(), (packed.triangles * 3).into());
        indices.insert("type".to_owned(), "SCALAR".into());
        let indices = self.views.add_accessor(indices);
        let view = self.views.add_bytes(&packed.bytes);
        let mut json = Map::new();
        json.insert("attributes".to_owned(), Value::Object(attributes));
        json.insert("indices".to_owned(), indices.into());
        json.insert(
            "extensions".to_owned(),
            json!({ "KHR_draco_mesh_compression": { "bufferView": view, "attributes": ids } }),
        );
        json
    }
}
