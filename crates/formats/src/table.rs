//! The rows of the table.

use super::model_format::Import::{Read, Unread};
use super::model_format::Kind::{Archive, Authoring, Cad, Exchange, Scene};
use super::model_format::ModelFormat;
use super::model_format::Parts::{Named, OneFile, OneFileOrNamed, Unknown};

macro_rules! models {
    ($($extension:literal $media_type:expr, $kind:ident, $import:ident, $parts:ident;)*) => {
        &[$(ModelFormat {
            extension: $extension,
            media_type: $media_type,
            kind: $kind,
            import: $import,
            parts: $parts,
        },)*]
    };
}

/// All known formats of models, by rank.
pub static MODELS: &[ModelFormat] = models! {
    "glb" Some("model/gltf-binary"), Exchange, Read, OneFileOrNamed;
    "gltf" Some("model/gltf+json"), Exchange, Read, OneFileOrNamed;
    "fbx" Some("application/vnd.autodesk.fbx"), Scene, Read, OneFile;
    "obj" Some("model/obj"), Exchange, Read, Named;
    "ply" Some("model/ply"), Exchange, Read, OneFile;
    "stl" Some("model/stl"), Exchange, Read, OneFile;
    "usdz" Some("model/vnd.usdz+zip"), Exchange, Read, OneFile;
    "usdc" None, Scene, Read, Unknown;
    "usda" Some("model/vnd.usda"), Scene, Read, OneFileOrNamed;
    "usd" None, Scene, Read, Unknown;
    "3mf" Some("model/3mf"), Exchange, Unread, Unknown;
    "dae" Some("model/vnd.collada+xml"), Exchange, Unread, Unknown;
    "ctm" None, Exchange, Unread, Unknown;
    "3ds" Some("application/x-3ds"), Exchange, Unread, Unknown;
    "abc" None, Exchange, Unread, Unknown;
    "x3d" Some("model/x3d+xml"), Exchange, Unread, Unknown;
    "wrl" Some("model/vrml"), Exchange, Unread, Unknown;
    "vrml" Some("model/vrml"), Exchange, Unread, Unknown;
    "off" None, Exchange, Unread, Unknown;
    "ac" None, Exchange, Unread, Unknown;
    "ase" None, Exchange, Unread, Unknown;
    "u3d" Some("model/u3d"), Exchange, Unread, Unknown;
    "prc" Some("model/prc"), Exchange, Unread, Unknown;
    "e57" Some("model/e57"), Exchange, Unread, Unknown;
    "ztl" None, Exchange, Unread, Unknown;
    "skp" None, Exchange, Unread, Unknown;
    "blend" None, Authoring, Unread, Unknown;
    "max" None, Authoring, Unread, Unknown;
    "ma" None, Authoring, Unread, Unknown;
    "mb" None, Authoring, Unread, Unknown;
    "c4d" None, Authoring, Unread, Unknown;
    "lwo" None, Authoring, Unread, Unknown;
    "step" Some("model/step"), Cad, Read, OneFile;
    "stp" Some("model/step"), Cad, Read, OneFile;
    "iges" Some("model/iges"), Cad, Read, OneFile;
    "igs" Some("model/iges"), Cad, Read, OneFile;
    "brep" None, Cad, Read, OneFile;
    "jt" Some("model/jt"), Cad, Unread, Unknown;
    "sldprt" None, Cad, Unread, Unknown;
    "sldasm" None, Cad, Unread, Unknown;
    "3dm" None, Cad, Unread, Unknown;
    "3dxml" None, Cad, Unread, Unknown;
    "asm" None, Cad, Unread, Unknown;
    "catpart" None, Cad, Unread, Unknown;
    "catproduct" None, Cad, Unread, Unknown;
    "cgr" None, Cad, Unread, Unknown;
    "dwg" None, Cad, Unread, Unknown;
    "dxf" None, Cad, Unread, Unknown;
    "exp" None, Cad, Unread, Unknown;
    "iam" None, Cad, Unread, Unknown;
    "ifc" None, Cad, Unread, Unknown;
    "ipt" None, Cad, Unread, Unknown;
    "model" None, Cad, Unread, Unknown;
    "neu" None, Cad, Unread, Unknown;
    "par" None, Cad, Unread, Unknown;
    "prt" None, Cad, Unread, Unknown;
    "psm" None, Cad, Unread, Unknown;
    "rvt" None, Cad, Unread, Unknown;
    "sab" None, Cad, Unread, Unknown;
    "sat" None, Cad, Unread, Unknown;
    "vda" None, Cad, Unread, Unknown;
    "x_b" None, Cad, Unread, Unknown;
    "x_t" None, Cad, Unread, Unknown;
    "xas" None, Cad, Unread, Unknown;
    "xpr" None, Cad, Unread, Unknown;
    "zip" Some("application/zip"), Archive, Unread, OneFile;
};

/// Media types of the other files of models, besides images.
pub(super) static BESIDE: &[(&str, &str)] = &[
    ("mtl", "model/mtl"),
    ("json", "application/json"),
    ("rpdx", "application/x-rpdx+json"),
    ("log", "text/plain"),
    ("txt", "text/plain"),
];
