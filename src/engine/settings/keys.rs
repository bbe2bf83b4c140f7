//! Every key of the two layouts, and what becomes of it here: the list that the documentation and the
//! warnings are made from, and that a test holds against the reader.

/// A key of a configuration.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its path; `[]` stands for each element of a list.
    pub path: &'static str,
    /// What becomes of it.
    pub treatment: Treatment,
}

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// It is done as the documentation says.
    Done,
    /// It has no effect, for this reason, which stands in `warning.log`.
    NotDone(&'static str),
}

const fn done(path: &'static str) -> Key {
    Key {
        path,
        treatment: Treatment::Done,
    }
}

const fn not_done(path: &'static str, reason: &'static str) -> Key {
    Key {
        path,
        treatment: Treatment::NotDone(reason),
    }
}

const NO_BAKING: &str = "no textures are baked; those of the source are kept";

/// Every key of layout A, then every key of layout B.
pub static KEYS: &[Key] = &[
    done("schema"),
    done("limits.faces.count"),
    done("limits.faces.percentage"),
    done("limits.textures.baseColor"),
    done("limits.textures.emissive"),
    done("limits.textures.normal"),
    done("limits.textures.orm"),
    done("workflowSettings.targetMBSize"),
    done("workflowSettings.targetMeshResolution.faceCount"),
    done("workflowSettings.targetTextureResolution.baseColor"),
    done("workflowSettings.targetTextureResolution.emissive"),
    done("workflowSettings.targetTextureResolution.normal"),
    done("workflowSettings.targetTextureResolution.orm"),
    done("sceneManipulation.rotateZUp"),
    done("sceneManipulation.centerModel"),
    done("sceneManipulation.removeInvisibleGeometry"),
    done("sceneManipulation.discardAnimations"),
    done("sceneManipulation.removeSmallFeatures.removalPercentage"),
    not_done(
        "assetSimplification.meshDecimation.method",
        "triangles are always removed from the mesh itself; nothing is baked anew",
    ),
    done("assetSimplification.topologySettings.vertexMergingDistance"),
    not_done(
        "assetSimplification.topologySettings.meshDensityEqualization",
        "triangles stay dense where the shape needs them",
    ),
    not_done(
        "assetSimplification.topologySettings.boundaryPreservationFactor",
        "open borders are always kept as well as the rest of the shape",
    ),
    done("assetSimplification.topologySettings.preserveTopology"),
    not_done(
        "assetSimplification.uvAndAtlasSettings.uvStretchTolerance",
        "texture coordinates are kept, never unwrapped anew",
    ),
    not_done(
        "assetSimplification.materialAndTextureBaking.bakingQuality",
        NO_BAKING,
    ),
    not_done(
        "assetSimplification.materialAndTextureBaking.bakeNormalMap",
        NO_BAKING,
    ),
    not_done(
        "assetSimplification.materialAndTextureBaking.bakeAOMap",
        NO_BAKING,
    ),
    done("compressionAndExport.fileExports[].fileType"),
    done("compressionAndExport.fileExports[].meshCompressionMethod"),
    done("compressionAndExport.fileExports[].customScaling"),
    done("compressionAndExport.fileExports[].textureFormat.baseColor"),
    done("compressionAndExport.fileExports[].textureFormat.emissive"),
    done("compressionAndExport.fileExports[].textureFormat.normal"),
    done("compressionAndExport.fileExports[].textureFormat.orm"),
    done("import.general.rotateZUp"),
    not_done(
        "import.general.fixAnimationData",
        "animations are passed on as they are",
    ),
    done("import.general.normalmapYFlip"),
    not_done("import.USD.profile", "USD is written, not read"),
    not_done("import.USD.purpose", "USD is written, not read"),
    not_done(
        "import.CAD.tessellationResolution",
        "CAD files are not read",
    ),
    done("import.discard.cameras"),
    done("import.discard.lights"),
    done("import.discard.animations"),
    done("import.discard.morphTargets"),
    done("import.discard.unusedUVs"),
    done("export[].fileName"),
    done("export[].textureMapFilePrefix"),
    done("export[].discard"),
    not_done(
        "export[].format.gltf.pbrMaterial",
        "materials are written whole",
    ),
];

/// What `warning.log` says of the key at `path`, which nobody read.
pub(super) fn said(path: &str) -> String {
    let plain = without_indices(path);
    let known = KEYS.iter().find_map(|key| match key.treatment {
        Treatment::NotDone(reason) if key.path == plain => Some(reason),
        _ => None,
    });
    format!(
        "{path}: {}",
        known.unwrap_or("not a key of the configuration")
    )
}

/// `a[3].b` as `a[].b`.
fn without_indices(path: &str) -> String {
    path.split('[')
        .enumerate()
        .map(|(number, part)| match part.split_once(']') {
            Some((_, rest)) if number > 0 => format!("[]{rest}"),
            _ => part.to_owned(),
        })
        .collect()
}
