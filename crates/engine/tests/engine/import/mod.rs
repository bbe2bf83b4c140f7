//! Importing: what is in the file is in the scene, and a damaged file is refused with its reason.

mod accounted;
mod cad;
mod coordinates;
mod encodings;
pub mod far;
mod fbx;
mod fixtures;
mod nurbs;
mod obj;
mod obj_materials;
mod ply;
mod samples;
mod stl_and_ply;
mod texts;
mod usd;
mod zip_archives;

use assetfs_engine::WarningKind;
use assetfs_engine::import::import;
use texts::import_texts;

#[test]
fn cad_and_unknown_files_are_refused_clearly() {
    let dir = tempfile::tempdir().unwrap();
    for (file, start) in [
        (
            "part.SLDPRT",
            "part.SLDPRT: this format of CAD files is not supported",
        ),
        ("scene.blend", "scene.blend: this format is not supported"),
        (
            "notes.txt",
            "no 3D model found: the upload holds only notes.txt",
        ),
    ] {
        std::fs::write(dir.path().join(file), b"x").unwrap();
        let error = import(dir.path(), &[file.to_owned()]).unwrap_err();
        assert!(error.to_string().starts_with(start), "{error}");
    }
    let empty = import(dir.path(), &[]).unwrap_err();
    assert_eq!(empty.to_string(), "no 3D model found: the upload is empty");
}

#[test]
fn an_empty_file_of_any_format_is_called_empty() {
    let dir = tempfile::tempdir().unwrap();
    for extension in assetfs_formats::read() {
        let file = format!("model.{extension}");
        std::fs::write(dir.path().join(&file), b"").unwrap();
        let error = import(dir.path(), std::slice::from_ref(&file)).unwrap_err();
        assert!(error.to_string().contains("the file is empty"), "{error}");
    }
}

/// Scripts tell the two apart: only a missing file is there after a better upload.
#[test]
fn a_texture_that_is_missing_and_one_that_is_damaged_have_codes_of_their_own() {
    let obj = "mtllib a.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n";
    let ply = "ply\nformat ascii 1.0\ncomment TextureFile wood.png\nelement vertex 3\nproperty float x\n\
               property float y\nproperty float z\nproperty float s\nproperty float t\nelement face 1\n\
               property list uchar int vertex_indices\nend_header\n0 0 0 0 0\n1 0 0 1 0\n0 1 0 0 1\n3 0 1 2\n";
    let usda = "#usda 1.0\ndef Material \"M\"\n{\n    token outputs:surface.connect = </M/S.outputs:surface>\n    \
                def Shader \"S\"\n    {\n        uniform token info:id = \"UsdPreviewSurface\"\n        \
                color3f inputs:diffuseColor.connect = </M/T.outputs:rgb>\n        token outputs:surface\n    }\n    \
                def Shader \"T\"\n    {\n        uniform token info:id = \"UsdUVTexture\"\n        \
                asset inputs:file = @wood.png@\n        float2 inputs:st.connect = </M/P.outputs:result>\n        \
                float3 outputs:rgb\n    }\n    def Shader \"P\"\n    {\n        \
                uniform token info:id = \"UsdPrimvarReader_float2\"\n        string inputs:varname = \"st\"\n        \
                float2 outputs:result\n    }\n}\ndef Mesh \"Q\" (prepend apiSchemas = [\"MaterialBindingAPI\"])\n{\n    \
                int[] faceVertexCounts = [3]\n    int[] faceVertexIndices = [0, 1, 2]\n    \
                point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n    \
                texCoord2f[] primvars:st = [(0, 0), (1, 0), (0, 1)] (interpolation = \"vertex\")\n    \
                uniform token subdivisionScheme = \"none\"\n    rel material:binding = </M>\n}\n";
    let library = ("a.mtl", b"newmtl m\nmap_Kd wood.png\n".as_slice());
    for model in [("a.obj", obj), ("a.ply", ply), ("a.usda", usda)] {
        let found = |more: &[(&str, &[u8])]| {
            let model = (model.0, model.1.as_bytes());
            let files = [&[model, library], more].concat();
            let warnings = import_texts(&files).unwrap().warnings;
            assert!(warnings[0].text.contains("\"wood.png\""), "{warnings:?}");
            warnings.iter().map(|it| it.kind).collect::<Vec<_>>()
        };
        assert_eq!(found(&[]), [WarningKind::MissingFile], "{}", model.0);
        let damaged = found(&[("wood.png", b"no image")]);
        assert_eq!(damaged, [WarningKind::BadTexture], "{}", model.0);
    }
}
