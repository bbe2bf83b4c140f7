//! The rows of the table.

use super::model_format::Kind::{Archive, Authoring, Cad, Exchange, Scene};
use super::model_format::ModelFormat;
use super::model_format::Parts::{Named, OneFile, OneFileOrNamed, Unknown};
use super::model_format::Support::{Read, ReadWrite, Unsupported};

macro_rules! models {
    ($($extension:literal $media_type:expr, $kind:ident, $support:ident, $parts:ident;)*) => {
        &[$(ModelFormat {
            extension: $extension,
            media_type: $media_type,
            kind: $kind,
            support: $support,
            parts: $parts,
        },)*]
    };
}

/// All known formats of models, by rank.
pub static MODELS: &[ModelFormat] = models! {
    "glb" Some("model/gltf-binary"), Exchange, ReadWrite, OneFileOrNamed;
    "gltf" Some("model/gltf+json"), Exchange, ReadWrite, OneFileOrNamed;
    "fbx" Some("application/vnd.autodesk.fbx"), Scene, ReadWrite, OneFile;
    "obj" Some("model/obj"), Exchange, ReadWrite, Named;
    "ply" Some("model/ply"), Exchange, ReadWrite, OneFile;
    "stl" Some("model/stl"), Exchange, ReadWrite, OneFile;
    "usdz" Some("model/vnd.usdz+zip"), Exchange, ReadWrite, OneFile;
    "usdc" None, Scene, Read, Unknown;
    "usda" Some("model/vnd.usda"), Scene, Read, OneFileOrNamed;
    "usd" None, Scene, Read, Unknown;
    "3mf" Some("model/3mf"), Exchange, Unsupported, Unknown;
    "dae" Some("model/vnd.collada+xml"), Exchange, Unsupported, Unknown;
    "ctm" None, Exchange, Unsupported, Unknown;
    "3ds" Some("application/x-3ds"), Exchange, Unsupported, Unknown;
    "abc" None, Exchange, Unsupported, Unknown;
    "x3d" Some("model/x3d+xml"), Exchange, Unsupported, Unknown;
    "wrl" Some("model/vrml"), Exchange, Unsupported, Unknown;
    "vrml" Some("model/vrml"), Exchange, Unsupported, Unknown;
    "off" None, Exchange, Unsupported, Unknown;
    "ac" None, Exchange, Unsupported, Unknown;
    "ase" None, Exchange, Unsupported, Unknown;
    "u3d" Some("model/u3d"), Exchange, Unsupported, Unknown;
    "prc" Some("model/prc"), Exchange, Unsupported, Unknown;
    "e57" Some("model/e57"), Exchange, Unsupported, Unknown;
    "ztl" None, Exchange, Unsupported, Unknown;
    "skp" None, Exchange, Unsupported, Unknown;
    "blend" None, Authoring, Unsupported, Unknown;
    "max" None, Authoring, Unsupported, Unknown;
    "ma" None, Authoring, Unsupported, Unknown;
    "mb" None, Authoring, Unsupported, Unknown;
    "c4d" None, Authoring, Unsupported, Unknown;
    "lwo" None, Authoring, Unsupported, Unknown;
    "step" Some("model/step"), Cad, Read, OneFile;
    "stp" Some("model/step"), Cad, Read, OneFile;
    "iges" Some("model/iges"), Cad, Read, OneFile;
    "igs" Some("model/iges"), Cad, Read, OneFile;
    "brep" None, Cad, Read, OneFile;
    "jt" Some("model/jt"), Cad, Unsupported, Unknown;
    "sldprt" None, Cad, Unsupported, Unknown;
    "sldasm" None, Cad, Unsupported, Unknown;
    "3dm" None, Cad, Unsupported, Unknown;
    "3dxml" None, Cad, Unsupported, Unknown;
    "asm" None, Cad, Unsupported, Unknown;
    "catpart" None, Cad, Unsupported, Unknown;
    "catproduct" None, Cad, Unsupported, Unknown;
    "cgr" None, Cad, Unsupported, Unknown;
    "dwg" None, Cad, Unsupported, Unknown;
    "dxf" None, Cad, Unsupported, Unknown;
    "exp" None, Cad, Unsupported, Unknown;
    "iam" None, Cad, Unsupported, Unknown;
    "ifc" None, Cad, Unsupported, Unknown;
    "ipt" None, Cad, Unsupported, Unknown;
    "model" None, Cad, Unsupported, Unknown;
    "neu" None, Cad, Unsupported, Unknown;
    "par" None, Cad, Unsupported, Unknown;
    "prt" None, Cad, Unsupported, Unknown;
    "psm" None, Cad, Unsupported, Unknown;
    "rvt" None, Cad, Unsupported, Unknown;
    "sab" None, Cad, Unsupported, Unknown;
    "sat" None, Cad, Unsupported, Unknown;
    "vda" None, Cad, Unsupported, Unknown;
    "x_b" None, Cad, Unsupported, Unknown;
    "x_t" None, Cad, Unsupported, Unknown;
    "xas" None, Cad, Unsupported, Unknown;
    "xpr" None, Cad, Unsupported, Unknown;
    "zip" Some("application/zip"), Archive, Unsupported, OneFile;
};

/// Media types of the other files of models.
pub(super) static BESIDE: &[(&str, &str)] = &[
    ("mtl", "model/mtl"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ktx2", "image/ktx2"),
    ("json", "application/json"),
    ("rpdx", "application/x-rpdx+json"),
    ("log", "text/plain"),
    ("txt", "text/plain"),
];
