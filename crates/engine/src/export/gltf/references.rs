//! Updates the references in JSON that is passed through: to accessors, to bytes of extensions, to images.

use serde_json::{Map, Value};

use super::super::super::scene::{Scene, Storage, index_in};
use super::super::view_use::ViewUse;
use super::GltfWriter;

impl GltfWriter<'_> {
    /// Writes the tables of skins, animations and instancing as accessors, and updates the references to them.
    pub(super) fn write_tables(&mut self) {
        let mut accessors = vec![None; self.scene.tables.len()];
        let mut json = std::mem::take(&mut self.json);
        for_each_table(&mut json, |usage, reference| {
            let Some(table) = reference.as_u64() else {
                return;
            };
            let table = table as usize;
            let accessor = *accessors[table].get_or_insert_with(|| {
                let numbers = &self.scene.tables[table];
                let storage = Storage {
                    component: numbers.component,
                    normalized: numbers.normalized,
                };
                let with_limits = usage == ViewUse::KeyTimes;
                self.views.add_numbers(
                    usage,
                    numbers.element,
                    storage,
                    &numbers.values,
                    with_limits,
                )
            });
            *reference = accessor.into();
        });
        self.json = json;
    }

    pub(super) fn write_blobs(&mut self) {
        let mut json = Value::Object(std::mem::take(&mut self.json));
        self.fit_blobs(&mut json, false);
        if let Value::Object(json) = json {
            self.json = json;
        }
    }

    fn fit_blobs(&mut self, at: &mut Value, in_extension: bool) {
        match at {
            Value::Array(elements) => {
                elements
                    .iter_mut()
                    .for_each(|element| self.fit_blobs(element, in_extension));
            }
            Value::Object(members) => {
                let is_property = in_extension && members.get("values").is_some_and(Value::is_u64);
                let passes = |key: &str| {
                    ![
                        "extras",
                        "KHR_draco_mesh_compression",
                        "EXT_mesh_gpu_instancing",
                    ]
                    .contains(&key)
                };
                for (key, member) in members.iter_mut().filter(|(key, _)| passes(key)) {
                    let is_metadata = ["values", "arrayOffsets", "stringOffsets"];
                    let names_view = in_extension && key == "bufferView"
                        || is_property && is_metadata.contains(&key.as_str());
                    match member.as_u64().filter(|_| names_view) {
                        Some(blob) => {
                            let view = self.views.add_bytes(&self.scene.blobs[blob as usize]);
                            *member = view.into();
                        }
                        None => self.fit_blobs(member, in_extension || key == "extensions"),
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn fit_textures(&mut self) {
        let Some(textures) = self.json.get_mut("textures").and_then(Value::as_array_mut) else {
            return;
        };
        for texture in textures {
            fit_source(texture, &self.image_places);
            if let Some(extensions) = texture.get_mut("extensions").and_then(Value::as_object_mut) {
                for extension in extensions.values_mut() {
                    fit_source(extension, &self.image_places);
                }
            }
        }
    }
}

fn fit_source(json: &mut Value, places: &[Option<usize>]) {
    if let Some(place) = index_in(json, "source").and_then(|image| places[image]) {
        json["source"] = place.into();
    }
}

/// The new index of each image that has bytes.
pub(super) fn image_places(scene: &Scene) -> Vec<Option<usize>> {
    let mut next = 0;
    let is_shown = |image: &usize| !scene.images[*image].bytes.is_empty();
    (0..scene.images.len())
        .map(|image| {
            is_shown(&image).then(|| {
                next += 1;
                next - 1
            })
        })
        .collect()
}

/// Calls `change` with every reference from skins, animations and nodes to a table.
fn for_each_table(json: &mut Map<String, Value>, mut change: impl FnMut(ViewUse, &mut Value)) {
    let list = |json: &mut Map<String, Value>, name: &str| -> Vec<Value> {
        match json.get_mut(name) {
            Some(Value::Array(list)) => std::mem::take(list),
            _ => Vec::new(),
        }
    };
    let mut skins = list(json, "skins");
    for skin in &mut skins {
        if let Some(reference) = skin.get_mut("inverseBindMatrices") {
            change(ViewUse::Bind, reference);
        }
    }
    let mut animations = list(json, "animations");
    for animation in &mut animations {
        let samplers = animation.get_mut("samplers").and_then(Value::as_array_mut);
        for sampler in samplers.into_iter().flatten() {
            for (key, usage) in [("input", ViewUse::KeyTimes), ("output", ViewUse::KeyValues)] {
                if let Some(reference) = sampler.get_mut(key) {
                    change(usage, reference);
                }
            }
        }
    }
    let mut nodes = list(json, "nodes");
    for node in &mut nodes {
        let attributes = node.pointer_mut("/extensions/EXT_mesh_gpu_instancing/attributes");
        for reference in attributes
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(Map::values_mut)
        {
            change(ViewUse::Instance, reference);
        }
    }
    for (name, values) in [
        ("skins", skins),
        ("animations", animations),
        ("nodes", nodes),
    ] {
        if json.contains_key(name) {
            json.insert(name.to_owned(), Value::Array(values));
        }
    }
}
