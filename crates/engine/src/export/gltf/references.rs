//! Updates the references in JSON that is passed through: to accessors, to bytes of extensions, to images.

use std::collections::HashMap;
use std::convert::Infallible;

use serde_json::{Map, Value};

use super::super::super::scene::{Scene, for_each_blob, for_each_table, index_in, new_places};
use super::super::views::Views;

/// Writes the tables of skins, animations and instancing as accessors, and updates the references to them.
pub(super) fn write_tables(json: &mut Map<String, Value>, scene: &Scene, views: &mut Views) {
    // A table with two uses is written for each, because its form depends on the use.
    let mut accessors = HashMap::new();
    let written = for_each_table(json, |usage, reference| {
        let Some(table) = reference.as_u64() else {
            return Ok(());
        };
        let table = table as usize;
        let accessor = *accessors
            .entry((table, usage))
            .or_insert_with(|| views.add_table(usage, &scene.tables[table]));
        *reference = accessor.into();
        Ok::<_, Infallible>(())
    });
    let Ok(()) = written;
}

/// Writes the bytes that extensions refer to as views, and updates the references to them.
pub(super) fn write_blobs(json: &mut Map<String, Value>, scene: &Scene, views: &mut Views) {
    let Ok(()) = for_each_blob(json, &mut |blob| {
        Ok::<_, Infallible>(views.add_bytes(&scene.blobs[blob]))
    });
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
    new_places(scene.images.iter().map(|image| !image.bytes.is_empty()))
}
