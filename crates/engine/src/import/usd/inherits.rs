//! Removes `inherits` arcs that the library would follow forever: arcs that repeat an arc of a parent (`/B` inherits
//! `/A`, and `/B/C` inherits `/A/C`), which have no effect, and arcs from a prim to itself or to an ancestor.

use std::collections::{HashMap, HashSet};

use openusd::sdf::{AbstractData, EditError, FieldKey, Path, Value};
use openusd::usd::Stage;

/// Removes them from the layers that the stage begins with. Returns the prims that inherited themselves.
pub(super) fn remove_endless(stage: &Stage) -> Result<Vec<Path>, EditError> {
    let mut circles = Vec::new();
    for identifier in stage.layer_stack() {
        let repeated = stage
            .layer(&identifier)
            .map(|layer| repeated_in(layer.data(), &mut circles))
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
    Ok(circles)
}

/// The fields with such inherits, and what is left of them. Prims that inherit themselves are added to `circles`.
fn repeated_in(data: &dyn AbstractData, circles: &mut Vec<Path>) -> Vec<(Path, FieldKey, Value)> {
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
        let closes = |target: &Path| closes_circle(&targets, &path, &path.make_absolute(target));
        let is_endless =
            |target: &Path| is_repeated(&path, &path.make_absolute(target)) || closes(target);
        let all = list.flatten();
        if all.iter().any(&closes) && !circles.contains(&path) {
            circles.push(path.clone());
        }
        if all.iter().any(is_endless) {
            let left = list.filter_map(|target| (!is_endless(&target)).then_some(target));
            repeated.push((path, field, Value::PathListOp(left)));
        }
    }
    repeated
}

/// Whether the prims that `target` is composed of include `path` or a prim above it.
fn closes_circle(targets: &HashMap<Path, Vec<Path>>, path: &Path, target: &Path) -> bool {
    let mut waiting = vec![target.clone()];
    let mut seen = HashSet::new();
    while let Some(next) = waiting.pop() {
        if path.has_prefix(&next) {
            return true;
        }
        if seen.insert(next.clone()) {
            waiting.extend(targets.get(&next).into_iter().flatten().cloned());
        }
    }
    false
}
