//! Updates the references in JSON that is passed through: to accessors, to bytes of extensions, to images.

use serde_json::{Map, Value};

use super::super::super::scene::{Scene, Storage, index_in};
use super::super::view_use::ViewUse;
use super::super::views::Views;

/// Writes the tables of skins, animations and instancing as accessors, and updates the references to them.
pub(super) fn write_tables(json: &mut Map<String, Value>, scene: &Scene, views: &mut Views) {
    let mut accessors = vec![None; scene.tables.len()];
    for_each_table(json, |usage, reference| {
        let Some(table) = reference.as_u64() else {
            return;
        };
        let table = table as usize;
        let accessor = *accessors[table].get_or_insert_with(|| {
            let numbers = &scene.tables[table];
            let storage = Storage {
                component: numbers.component,
                normalized: numbers.normalized,
            };
            let with_limits = usage == ViewUse::KeyTimes;
            views.add_numbers(
                usage,
                numbers.element,
                storage,
                &numbers.values,
                with_limits,
            )
        });
        *reference = accessor.into();
    });
}

/// Writes the bytes that extensions refer to as views, and updates the references to them.
pub(super) fn write_blobs(json: &mut Map<String, Value>, scene: &Scene, views: &mut Views) {
    blobs_of_members(json, false, &mut |blob| views.add_bytes(&scene.blobs[blob]));
}

fn blobs_of(at: &mut Value, in_extension: bool, write: &mut impl FnMut(usize) -> usize) {
    match at {
        Value::Array(elements) => {
            for element in elements {
                blobs_of(element, in_extension, write);
            }
        }
        Value::Object(members) => blobs_of_members(members, in_extension, write),
        _ => {}
    }
}

fn blobs_of_members(
    members: &mut Map<String, Value>,
    in_extension: bool,
    write: &mut impl FnMut(usize) -> usize,
) {
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
            Some(blob) => *member = write(blob as usize).into(),
            None => blobs_of(member, in_extension || key == "extensions", write),
        }
    }
}

/// Updates the images of textures. `places`: the new index of each image that has bytes.
pub(super) fn fit_textures(json: &mut Map<String, Value>, places: &[Option<usize>]) {
    let Some(textures) = json.get_mut("textures").and_then(Value::as_array_mut) else {
        return;
    };
    for texture in textures {
        fit_source(texture, places);
        if let Some(extensions) = texture.get_mut("extensions").and_then(Value::as_object_mut) {
            for extension in extensions.values_mut() {
                fit_source(extension, places);
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
