//! Blend shapes (`UsdSkelBlendShape`): how far the points of a mesh move at full weight, and the animation of the weights.

use openusd::sdf::Path;
use openusd::usd::{Prim, Stage};

use super::values::{inherited_target, integers, of, targets, texts, value, vectors};
use super::warnings::Warnings;
use assetfs_formats::warnings::WarningKind;

/// Points times shapes of one mesh; more are left out.
const MAX_MOVES: usize = 100_000_000;

/// A shape that a mesh can take.
pub(super) struct BlendShape {
    pub(super) name: String,
    /// How far each point moves.
    pub(super) offsets: Vec<[f32; 3]>,
    /// How the normal of each point changes.
    pub(super) normals: Option<Vec<[f32; 3]>>,
}

/// The shapes that a mesh names.
pub(super) fn shapes_of(prim: &Prim, points: usize, warnings: &mut Warnings) -> Vec<BlendShape> {
    let names = of(prim, "skel:blendShapes").map(texts).unwrap_or_default();
    let paths = match names.is_empty() {
        true => Vec::new(),
        false => targets(prim, "skel:blendShapeTargets"),
    };
    let mesh = prim.path().name().unwrap_or_default();
    let mut shapes = Vec::new();
    for (name, path) in names.into_iter().zip(paths) {
        if (shapes.len() + 1).saturating_mul(points) > MAX_MOVES {
            warnings.add(
                WarningKind::NotRead,
                format!(
                    "mesh \"{mesh}\" has more blend shapes than are read; the others are left out"
                ),
            );
            break;
        }
        match shape_at(&prim.stage().prim(path), name, points, warnings) {
            Ok(shape) => shapes.push(shape),
            Err(name) => warnings.add(WarningKind::Damaged, format!(
                "mesh \"{mesh}\": its blend shape \"{name}\" does not fit its points and is left out"
            )),
        }
    }
    shapes
}

/// The shape of a prim; the error is its name.
fn shape_at(
    shape: &Prim,
    name: String,
    points: usize,
    warnings: &mut Warnings,
) -> Result<BlendShape, String> {
    let moved: Option<Vec<usize>> = of(shape, "pointIndices")
        .and_then(integers)
        .map(|indices| indices.into_iter().map(|index| index as usize).collect());
    let spread = |offsets: Vec<[f32; 3]>| -> Option<Vec<[f32; 3]>> {
        match &moved {
            None => (offsets.len() == points).then_some(offsets),
            Some(moved) => {
                let mut all = vec![[0.0; 3]; points];
                for (point, offset) in moved.iter().zip(offsets) {
                    *all.get_mut(*point)? = offset;
                }
                Some(all)
            }
        }
    };
    let is_between = |name: &str| name.starts_with("inbetweens:");
    let properties = shape.property_names().unwrap_or_default();
    if properties
        .iter()
        .any(|property| is_between(property.as_str()))
    {
        warnings.add(
            WarningKind::NotRead,
            format!("the blend shape \"{name}\" has shapes in between, which are not read"),
        );
    }
    let offsets = of(shape, "offsets").and_then(vectors);
    let normals = of(shape, "normalOffsets").and_then(vectors);
    match offsets.and_then(&spread) {
        Some(offsets) => Ok(BlendShape {
            name,
            offsets,
            normals: normals.and_then(&spread),
        }),
        None => Err(name),
    }
}

/// The weights of a mesh's shapes over time.
pub(super) struct ShapeWeights {
    pub(super) clip: Prim,
    /// For each shape of the mesh, its place among the weights of the clip.
    places: Vec<Option<usize>>,
}

impl ShapeWeights {
    /// The weights that the animation of the mesh's skeleton has for these shapes.
    pub(super) fn of(stage: &Stage, mesh: &Prim, shapes: &[String]) -> Option<ShapeWeights> {
        let skeleton: Path = inherited_target(mesh, "skel:skeleton")?;
        let clip = inherited_target(&stage.prim(skeleton), "skel:animationSource")?;
        let clip = stage.prim(clip);
        let known = of(&clip, "blendShapes").map(texts).unwrap_or_default();
        let place = |shape: &String| known.iter().position(|known| known == shape);
        Some(ShapeWeights {
            clip,
            places: shapes.iter().map(place).collect(),
        })
    }

    pub(super) fn times(&self) -> Vec<f64> {
        let weights = self.clip.attribute("blendShapeWeights");
        let times = weights.time_sample_times().unwrap_or_default();
        times.into_iter().filter(|time| time.is_finite()).collect()
    }

    /// The weight of each shape: at rest, or at this time of the animation.
    pub(super) fn at(&self, time: Option<f64>) -> Vec<f32> {
        let weights = value(&self.clip.attribute("blendShapeWeights"), time);
        let weights: Vec<[f32; 1]> = weights.and_then(vectors).unwrap_or_default();
        let weight = |place: &Option<usize>| match place.and_then(|place| weights.get(place)) {
            Some([weight]) if weight.is_finite() => *weight,
            _ => 0.0,
        };
        self.places.iter().map(weight).collect()
    }
}
