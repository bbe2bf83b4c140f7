//! Data that passes through: keyframes, bind matrices, instance transforms, data of unknown extensions.
//!
//! References in the scene's JSON to accessors become indices into its tables, and references to
//! buffer views inside extensions become indices into its blobs.

use std::collections::HashMap;

use serde_json::Value;

use super::super::super::scene::Table;
use super::super::error::ImportError;
use super::GltfReader;

/// Keys of `EXT_structural_metadata` that refer to buffer views.
const METADATA_VIEWS: &[&str] = &["values", "arrayOffsets", "stringOffsets"];

impl GltfReader<'_> {
    pub(super) fn read_passing(&mut self) -> Result<(), ImportError> {
        let mut json = std::mem::take(&mut self.scene.json);
        let mut tables = HashMap::new();
        let members = |list: Option<&mut Value>| -> Vec<Value> {
            match list {
                Some(Value::Array(list)) => std::mem::take(list),
                _ => Vec::new(),
            }
        };
        let mut skins = members(json.get_mut("skins"));
        for skin in &mut skins {
            self.table(skin.get_mut("inverseBindMatrices"), &mut tables)?;
        }
        let mut animations = members(json.get_mut("animations"));
        for animation in &mut animations {
            let Some(samplers) = animation.get_mut("samplers").and_then(Value::as_array_mut) else {
                continue;
            };
            for sampler in samplers {
                self.table(sampler.get_mut("input"), &mut tables)?;
                self.table(sampler.get_mut("output"), &mut tables)?;
            }
        }
        let mut nodes = members(json.get_mut("nodes"));
        for node in &mut nodes {
            let attributes = node.pointer_mut("/extensions/EXT_mesh_gpu_instancing/attributes");
            if let Some(attributes) = attributes.and_then(Value::as_object_mut) {
                for reference in attributes.values_mut() {
                    self.table(Some(reference), &mut tables)?;
                }
            }
        }
        for (list, values) in [
            ("skins", skins),
            ("animations", animations),
            ("nodes", nodes),
        ] {
            if !values.is_empty() {
                json.insert(list.to_owned(), Value::Array(values));
            }
        }
        let mut json = Value::Object(json);
        self.blobs(&mut json, false)?;
        let Value::Object(json) = json else {
            unreachable!("the top was an object");
        };
        self.scene.json = json;
        self.mesh_blobs()
    }

    /// Copies the buffer views that extensions of meshes and primitives refer to.
    fn mesh_blobs(&mut self) -> Result<(), ImportError> {
        let mut meshes = std::mem::take(&mut self.scene.meshes);
        for mesh in &mut meshes {
            let jsons = mesh
                .primitives
                .iter_mut()
                .map(|primitive| &mut primitive.json)
                .chain([&mut mesh.json]);
            for json in jsons {
                let mut value = Value::Object(std::mem::take(json));
                self.blobs(&mut value, false)?;
                if let Value::Object(members) = value {
                    *json = members;
                }
            }
        }
        self.scene.meshes = meshes;
        Ok(())
    }

    /// Replaces the index of an accessor by the index of a table with its numbers.
    fn table(
        &mut self,
        reference: Option<&mut Value>,
        tables: &mut HashMap<u64, usize>,
    ) -> Result<(), ImportError> {
        let Some(reference) = reference else {
            return Ok(());
        };
        let Some(accessor) = reference.as_u64().or(reference.as_f64().map(|n| n as u64)) else {
            return Ok(());
        };
        let table = match tables.get(&accessor) {
            Some(known) => *known,
            None => {
                let info = self.document.accessors().info(accessor as usize)?;
                let values = self.numbers(&info, None)?.to_vec();
                self.scene.tables.push(Table {
                    element: info.element,
                    component: info.component,
                    normalized: info.normalized,
                    values,
                });
                let index = self.scene.tables.len() - 1;
                tables.insert(accessor, index);
                index
            }
        };
        *reference = table.into();
        Ok(())
    }

    /// Copies the bytes of buffer views that extensions refer to.
    fn blobs(&mut self, at: &mut Value, in_extension: bool) -> Result<(), ImportError> {
        match at {
            Value::Array(elements) => {
                for element in elements {
                    self.blobs(element, in_extension)?;
                }
            }
            Value::Object(members) => {
                let is_property =
                    in_extension && members.contains_key("values") && members["values"].is_u64();
                // Instancing refers to accessors, which become tables.
                let passes = |key: &str| !["extras", "EXT_mesh_gpu_instancing"].contains(&key);
                for (key, member) in members.iter_mut().filter(|(key, _)| passes(key)) {
                    let names_view = in_extension && key == "bufferView"
                        || is_property && METADATA_VIEWS.contains(&key.as_str());
                    match (names_view, member.as_u64()) {
                        (true, Some(view)) => *member = self.blob(view as usize)?.into(),
                        _ => self.blobs(member, in_extension || key == "extensions")?,
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn blob(&mut self, view: usize) -> Result<usize, ImportError> {
        let bytes = self.document.view_bytes(view)?;
        self.scene.blobs.push(bytes);
        Ok(self.scene.blobs.len() - 1)
    }
}
