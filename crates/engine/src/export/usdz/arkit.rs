//! The rules that Apple's viewers add to those of USDZ: the kinds of files, prims and shaders, the axis that is up. They
//! are those of `usdchecker --arkit`, except that it asks for usdc as the first file, and layers as text are allowed here.

use std::io::Cursor;
use std::path::Path;

use openusd::sdf::Value;
use openusd::usd::{Prim, PrimPredicate, Stage};
use zip::CompressionMethod;

use assetfs_formats::extension;

/// Every file in the archive starts at a multiple of this, so that it can be mapped into memory.
pub(super) const ALIGNMENT: u16 = 64;
const LAYERS: &[&str] = &["usd", "usda", "usdc"];
const OTHER_FILES: &[&str] = &["png", "jpg", "jpeg", "exr", "avif", "m4a", "mp3", "wav"];
const SHADERS: &[&str] = &["UsdPreviewSurface", "UsdUVTexture", "UsdTransform2d"];
const PRIMS: &[&str] = &[
    "",
    "BlendShape",
    "Camera",
    "Capsule",
    "Cone",
    "Cube",
    "Cylinder",
    "GeomSubset",
    "Material",
    "Mesh",
    "NodeGraph",
    "Points",
    "Scope",
    "Shader",
    "SkelAnimation",
    "SkelRoot",
    "Skeleton",
    "SpatialAudio",
    "Sphere",
    "Xform",
];

/// What breaks the rules in a usdz file: the sentences of warnings.
pub fn arkit_issues(path: &Path, bytes: &[u8]) -> Vec<String> {
    let mut issues = package_issues(bytes);
    match Stage::open(&path.to_string_lossy()) {
        Ok(stage) => issues.extend(stage_issues(&stage)),
        Err(error) => issues.push(format!("it cannot be opened: {error:#}")),
    }
    issues.sort();
    issues.dedup();
    issues
}

fn package_issues(bytes: &[u8]) -> Vec<String> {
    let mut issues = Vec::new();
    let mut archive = match zip::ZipArchive::new(Cursor::new(bytes)) {
        Ok(archive) => archive,
        Err(error) => return vec![format!("it is not a package: {error}")],
    };
    for index in 0..archive.len() {
        let Ok(entry) = archive.by_index_raw(index) else {
            continue;
        };
        let name = entry
            .name()
            .map(|name| name.into_owned())
            .unwrap_or_default();
        let kind = extension(&name);
        if index == 0 && !LAYERS.contains(&&*kind) {
            issues.push(format!("its first file, \"{name}\", is not a layer"));
        }
        if !LAYERS.contains(&&*kind) && !OTHER_FILES.contains(&&*kind) {
            issues.push(format!(
                "the file \"{name}\" is of a kind that Apple's viewers do not read"
            ));
        }
        if entry.compression() != CompressionMethod::Stored {
            issues.push(format!("the file \"{name}\" is compressed"));
        }
        if entry
            .data_start()
            .is_none_or(|start| start % u64::from(ALIGNMENT) != 0)
        {
            issues.push(format!(
                "the file \"{name}\" does not start at a multiple of {ALIGNMENT} bytes"
            ));
        }
    }
    issues
}

fn stage_issues(stage: &Stage) -> Vec<String> {
    let mut issues = Vec::new();
    let axis = stage.stage_metadata("upAxis").ok().flatten();
    if !matches!(&axis, Some(Value::Token(axis)) if axis.as_str() == "Y") {
        issues.push("its y axis is not up".to_owned());
    }
    if stage.default_prim().is_none() {
        issues.push("it has no default prim".to_owned());
    }
    let mut paths = Vec::new();
    if let Err(error) = stage.traverse(PrimPredicate::DEFAULT, |path| paths.push(path.clone())) {
        issues.push(format!("its prims cannot be read: {error:#}"));
    }
    for path in paths {
        let prim = stage.prim(path);
        let kind = prim.type_name().ok().flatten();
        let kind = kind.as_ref().map_or("", |kind| kind.as_str());
        if !PRIMS.contains(&kind) {
            issues.push(format!("prims of the type {kind} are not shown"));
        }
        if kind == "Shader" {
            issues.extend(shader_issue(&prim));
            issues.extend(normal_map_issue(stage, &prim));
        }
    }
    issues
}

fn shader_issue(shader: &Prim) -> Option<String> {
    let id = shader.attribute("info:id").get::<Value>().ok().flatten();
    let id = match &id {
        Some(Value::Token(id)) => id.as_str(),
        _ => "",
    };
    let is_known = SHADERS.contains(&id) || id.starts_with("UsdPrimvarReader_");
    (!is_known).then(|| format!("shaders of the kind \"{id}\" are not shown"))
}

/// Whether a normal map of a surface has another scale or bias than those that make directions of its bytes.
fn normal_map_issue(stage: &Stage, shader: &Prim) -> Option<String> {
    let connections = shader.attribute("inputs:normal").connections().ok()?;
    let texture = stage.prim(connections.first()?.prim_path());
    let four = |name: &str| match texture.attribute(name).get::<Value>().ok().flatten() {
        Some(Value::Vec4f(four)) => Some([four.x, four.y, four.z, four.w]),
        _ => None,
    };
    let (scale, bias) = (four("inputs:scale"), four("inputs:bias"));
    let is_plain = scale == Some([2.0, 2.0, 2.0, 1.0]) && bias == Some([-1.0, -1.0, -1.0, 0.0]);
    (!is_plain).then(|| {
        "a normal map has another scale than (2, 2, 2, 1) or another bias than (-1, -1, -1, 0)"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::write::SimpleFileOptions;

    use super::*;

    #[test]
    fn each_broken_rule_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.usdz");
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        let stage = "#usda 1.0\n(\n    upAxis = \"Z\"\n)\ndef Volume \"V\"\n{\n}\ndef Shader \"S\"\n{\n    \
            uniform token info:id = \"MyShader\"\n    normal3f inputs:normal.connect = </T.outputs:rgb>\n}\n\
            def Shader \"T\"\n{\n    uniform token info:id = \"UsdUVTexture\"\n    float4 inputs:scale = (4, 4, 2, 1)\n    \
            float4 inputs:bias = (-2, -2, -1, 0)\n    float3 outputs:rgb\n}\n";
        for (name, options, bytes) in [
            ("m.usda", stored, stage.as_bytes()),
            ("t.webp", packed, b"webp webp webp webp".as_slice()),
        ] {
            archive.start_file(name, options).unwrap();
            archive.write_all(bytes).unwrap();
        }
        let bytes = archive.finish().unwrap().into_inner();
        std::fs::write(&path, &bytes).unwrap();
        let expected = [
            "a normal map has another scale than (2, 2, 2, 1) or another bias than (-1, -1, -1, 0)",
            "it has no default prim",
            "its y axis is not up",
            "prims of the type Volume are not shown",
            "shaders of the kind \"MyShader\" are not shown",
            "the file \"m.usda\" does not start at a multiple of 64 bytes",
            "the file \"t.webp\" does not start at a multiple of 64 bytes",
            "the file \"t.webp\" is compressed",
            "the file \"t.webp\" is of a kind that Apple's viewers do not read",
        ];
        assert_eq!(arkit_issues(&path, &bytes), expected);
    }
}
