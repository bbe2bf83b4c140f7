//! Names the types and properties of prims that are not read.

use std::collections::{BTreeMap, BTreeSet};

use openusd::usd::Prim;

use super::super::super::settings::UsdPurpose;
use assetfs_formats::warnings::{Warning, WarningKind};

/// Types that draw nothing themselves.
const STRUCTURE: &[&str] = &[
    "",
    "Xform",
    "Scope",
    "SkelRoot",
    "Skeleton",
    "PointInstancer",
];
/// Maximum number of prims of a type whose properties are looked at. Further prims usually have the same properties, and a
/// stage may have millions.
const MAX_PRIMS_OF_A_TYPE: u64 = 10_000;

/// Properties of any prim that are read, or that do not change how it looks.
const OF_ALL: &[&str] = &[
    "visibility",
    "purpose",
    "proxyPrim",
    "xformOpOrder",
    "extent",
    "extentsHint",
    "material:binding",
    "doubleSided",
    "orientation",
    "skel:skeleton",
    "skel:animationSource",
    "skel:joints",
    "skel:blendShapes",
    "skel:blendShapeTargets",
];
/// The beginnings of names of such properties.
const STARTS_OF_ALL: &[&str] = &[
    "xformOp:",
    "material:binding:",
    "collection:",
    "primvars:skel:",
];
/// Properties of meshes that need no warning. Those of subdivision have no effect on other meshes, and subdivided meshes
/// have a warning of their own.
const OF_MESHES: &[&str] = &[
    "points",
    "faceVertexCounts",
    "faceVertexIndices",
    "normals",
    "holeIndices",
    "subdivisionScheme",
    "creaseIndices",
    "creaseLengths",
    "creaseSharpnesses",
    "cornerIndices",
    "cornerSharpnesses",
    "interpolateBoundary",
    "faceVaryingLinearInterpolation",
    "triangleSubdivisionRule",
];
const OF_SHAPES: &[&str] = &["size", "width", "length", "radius", "height", "axis"];
const OF_SKELETONS: &[&str] = &["joints", "jointNames", "bindTransforms", "restTransforms"];
const OF_INSTANCERS: &[&str] = &[
    "prototypes",
    "protoIndices",
    "ids",
    "invisibleIds",
    "inactiveIds",
    "positions",
    "orientations",
    "orientationsf",
    "scales",
];
/// Properties that are read over time, or whose changes are named elsewhere.
const OVER_TIME: &[&str] = &["visibility", "points", "extent"];

/// Whether prims of a type draw nothing themselves.
pub(super) fn is_structure(kind: &str) -> bool {
    STRUCTURE.contains(&kind)
}

/// What is not read, for the log.
#[derive(Default)]
pub(super) struct UnreadProperties {
    looked_at: BTreeMap<String, u64>,
    /// Names of properties with the type of their prim.
    names: BTreeSet<String>,
    moving: BTreeSet<String>,
}

impl UnreadProperties {
    /// Looks at the properties of a prim of a type whose prims are read.
    pub(super) fn look_at(&mut self, prim: &Prim, kind: &str) {
        let looked_at = self.looked_at.entry(kind.to_owned()).or_default();
        *looked_at += 1;
        if *looked_at > MAX_PRIMS_OF_A_TYPE {
            return;
        }
        for property in prim.property_names().unwrap_or_default() {
            let name = property.as_str();
            if !is_read(prim, kind, name) {
                self.names
                    .insert(format!("{} ({})", group_of(name), shown(kind)));
            } else if changes(prim, kind, name) {
                self.moving.insert(format!("{name} ({})", shown(kind)));
            }
        }
    }

    pub(super) fn lines(&self, file: &str) -> Vec<Warning> {
        let named = [
            (&self.names, "these properties are not read"),
            (&self.moving, "these properties are read at one time only"),
        ];
        let some = named.into_iter().filter(|(names, _)| !names.is_empty());
        some.map(|(names, what)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let text = format!("{file}: {what}: {}", names.join(", "));
            Warning::new(WarningKind::NotRead, text)
        })
        .collect()
    }
}

fn shown(kind: &str) -> &str {
    match kind {
        "" => "prims without a type",
        kind => kind,
    }
}

/// The name of a property; for a property of another program only its namespace, as `physics:*`.
fn group_of(name: &str) -> String {
    match name.split_once(':') {
        Some((space, _)) if space != "primvars" => format!("{space}:*"),
        _ => name.to_owned(),
    }
}

fn is_read(prim: &Prim, kind: &str, name: &str) -> bool {
    if OF_ALL.contains(&name) || STARTS_OF_ALL.iter().any(|start| name.starts_with(start)) {
        return true;
    }
    if let Some(primvar) = name.strip_prefix("primvars:") {
        return is_primvar_read(prim, kind, primvar);
    }
    let own = match kind {
        "Mesh" => OF_MESHES,
        "Skeleton" => OF_SKELETONS,
        "PointInstancer" => OF_INSTANCERS,
        kind if is_structure(kind) => &[],
        _ => OF_SHAPES,
    };
    own.contains(&name)
}

/// Colours are inherited; of the others, meshes read normals and pairs of numbers, which are texture coordinates.
fn is_primvar_read(prim: &Prim, kind: &str, name: &str) -> bool {
    let name = name.strip_suffix(":indices").unwrap_or(name);
    if ["displayColor", "displayOpacity"].contains(&name) {
        return true;
    }
    let attribute = prim.attribute(format!("primvars:{name}"));
    let of_two = attribute
        .type_name()
        .ok()
        .flatten()
        .is_some_and(|type_name| {
            ["texCoord2", "float2", "half2", "double2"]
                .iter()
                .any(|start| type_name.as_str().starts_with(start))
        });
    kind == "Mesh" && (name == "normals" || of_two)
}

/// Whether a property has several values over time that become one.
pub(super) fn changes(prim: &Prim, kind: &str, name: &str) -> bool {
    // The changes of instancers are named with the prim, and those of transforms are read.
    if kind == "PointInstancer" || OVER_TIME.contains(&name) || name.starts_with("xformOp:") {
        return false;
    }
    let count = prim.attribute(name).num_time_samples();
    count.is_ok_and(|count| count > 1)
}

/// Whether prims of a purpose are read.
pub(super) fn is_of_purpose(purpose: Option<&str>, wanted: UsdPurpose) -> bool {
    purpose.is_none_or(|purpose| purpose == "default" || purpose == wanted.name())
}

/// Whether prims of a type, or prims below them, may be drawn.
pub(super) fn is_walked(kind: &str) -> bool {
    !matches!(
        kind,
        "Material" | "Shader" | "NodeGraph" | "GeomSubset" | "SkelAnimation" | "BlendShape"
    )
}
