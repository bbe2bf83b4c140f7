//! Removes inherits that say again what a parent's inherit says: `/B` inherits `/A`, and `/B/C` inherits `/A/C`. They change
//! nothing, but the library follows them without end. Programs write them for copies of robots.

use std::collections::HashMap;

use openusd::sdf::{AbstractData, EditError, FieldKey, Path, Value};
use openusd::usd::Stage;

/// Removes them from the layers that the stage begins with.
pub(super) fn remove_repeated(stage: &Stage) -> Result<(), EditError> {
    for identifier in stage.layer_stack() {
        let repeated = stage
            .layer(&identifier)
            .map(|layer| repeated_in(layer.data()))
            .unwrap_or_default();
        if repeated.is_empty() {
            continue;
        }
        if let Some(mut layer) = stage.layer_mut(&identifier) {
            layer.edit(|edit| {
                for (path, field, left) in repeated {
                    edit.data_mut().set_field(&path, field.as_str(), left);
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// The fields with repeated inherits, and what is left of them.
fn repeated_in(data: &dyn AbstractData) -> Vec<(Path, FieldKey, Value)> {
    let mut lists = Vec::new();
    let mut targets: HashMap<Path, Vec<Path>> = HashMap::new();
    for path in data.spec_paths() {
        if path.is_property_path() {
            continue;
        }
        for field in [FieldKey::InheritPaths, FieldKey::Specializes] {
            if let Ok(Some(value)) = data.try_field(&path, field.as_str())
                && let Value::PathListOp(list) = value.into_owned()
            {
                let absolute = list
                    .flatten()
                    .iter()
                    .map(|target| path.make_absolute(target))
                    .collect::<Vec<_>>();
                targets.entry(path.clone()).or_default().extend(absolute);
                lists.push((path.clone(), field, list));
            }
        }
    }
    let is_repeated = |path: &Path, target: &Path| {
        path.strict_ancestors().any(|above| {
            let inherited = targets.get(&above).into_iter().flatten();
            inherited
                .filter_map(|inherited| path.replace_prefix(&above, inherited))
                .any(|same| same == *target)
        })
    };
    let mut repeated = Vec::new();
    for (path, field, list) in lists {
        let is_any = list
            .flatten()
            .iter()
            .any(|target| is_repeated(&path, &path.make_absolute(target)));
        if is_any {
            let left = list.filter_map(|target| {
                let is_needed = !is_repeated(&path, &path.make_absolute(&target));
                is_needed.then_some(target)
            });
            repeated.push((path, field, Value::PathListOp(left)));
        }
    }
    repeated
}
