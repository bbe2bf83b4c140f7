//! Texts of programs that do not write UTF-8: names in Windows-1252 mean the files with these names.

use super::fbx::fbx;
use super::texts::{grey_png, import_texts};
use super::usd::layer;
use crate::log_lines::LogLines as _;

fn latin(text: &str) -> Vec<u8> {
    let bytes = text.chars().map(|letter| u8::try_from(letter).unwrap());
    bytes.collect()
}

const OBJ: &str = "mtllib Möbel.mtl\no Stühle\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n\
                   usemtl Böden\nf 1/1 2/2 3/3\n";
const MTL: &str = "newmtl Böden\nmap_Kd tex/Böden.png\n";

#[test]
fn names_in_windows_1252_find_their_files() {
    let png = grey_png(&[1, 2, 3, 4]);
    let composed = "tex/Böden.png";
    let decomposed = "tex/Bo\u{308}den.png";
    for (obj, mtl, texture) in [
        (latin(OBJ), latin(MTL), composed),
        (latin(OBJ), latin(MTL), decomposed),
        (OBJ.into(), latin(MTL), composed),
        (latin(OBJ), MTL.into(), decomposed),
    ] {
        let files: [(&str, &[u8]); 3] = [("a.obj", &obj), ("Möbel.mtl", &mtl), (texture, &png)];
        let imported = import_texts(&files).unwrap();
        assert_eq!(imported.warnings.lines(), Vec::<String>::new());
        let scene = &imported.scene;
        assert_eq!(scene.meshes[0].name(), Some("Stühle"));
        let material = scene.material(scene.meshes[0].primitives[0].material);
        assert_eq!(material.name.as_deref(), Some("Böden"));
        assert!(material.base_color_texture.is_some());
        assert_eq!(scene.images[0].bytes, png);
    }
}

#[test]
fn textures_of_ply_and_usd_in_windows_1252_are_found() {
    let png = grey_png(&[1, 2, 3, 4]);
    let ply = latin(
        "ply\nformat ascii 1.0\ncomment TextureFile Böden.png\nelement vertex 3\nproperty float x\n\
         property float y\nproperty float z\nproperty float s\nproperty float t\nelement face 1\n\
         property list uchar int vertex_indices\nend_header\n0 0 0 0 0\n1 0 0 1 0\n0 1 0 0 1\n3 0 1 2\n",
    );
    let usda = latin(&layer(
        "def Mesh \"M\" (prepend apiSchemas = [\"MaterialBindingAPI\"])\n{\n int[] faceVertexCounts = [3]\n \
         int[] faceVertexIndices = [0, 1, 2]\n point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n \
         texCoord2f[] primvars:st = [(0, 0), (1, 0), (0, 1)] (interpolation = \"vertex\")\n \
         rel material:binding = </Mat>\n}\n\
         def Material \"Mat\"\n{\n token outputs:surface.connect = </Mat/S.outputs:surface>\n \
         def Shader \"S\"\n {\n uniform token info:id = \"UsdPreviewSurface\"\n \
         color3f inputs:diffuseColor.connect = </Mat/T.outputs:rgb>\n token outputs:surface\n }\n \
         def Shader \"T\"\n {\n uniform token info:id = \"UsdUVTexture\"\n asset inputs:file = @Böden.png@\n \
         float3 outputs:rgb\n }\n}\n",
    ));
    for (name, file) in [("m.ply", ply), ("m.usda", usda)] {
        let imported = import_texts(&[(name, &file), ("Böden.png", &png)]).unwrap();
        let textures = imported.scene.list("textures").len();
        assert_eq!(textures, 1, "{name}: {:?}", imported.warnings.lines());
    }
}

/// An FBX with a texture that has these names.
fn fbx_with_texture(names: &str) -> Vec<u8> {
    let text = "Geometry: 1000, \"Geometry::a\", \"Mesh\" {\nVertices: *9 {\na: 0,0,0,1,0,0,0,1,0\n}\n\
        PolygonVertexIndex: *3 {\na: 0,1,-3\n}\nGeometryVersion: 124\n\
        LayerElementUV: 0 {\nVersion: 101\nName: \"UV\"\nMappingInformationType: \"ByPolygonVertex\"\n\
        ReferenceInformationType: \"Direct\"\nUV: *6 {\na: 0,0,1,0,0,1\n}\n}\n\
        Layer: 0 {\nVersion: 100\nLayerElement:  {\nType: \"LayerElementUV\"\nTypedIndex: 0\n}\n}\n}\n\
        Model: 2000, \"Model::a\", \"Mesh\" {\nVersion: 232\n}\n\
        Material: 3000, \"Material::Red\", \"\" {\nVersion: 102\nShadingModel: \"phong\"\n}\n\
        Texture: 4000, \"Texture::t\", \"\" {\nType: \"TextureVideoClip\"\nVersion: 202\n";
    let connections = "\tC: \"OO\",2000,0\n\tC: \"OO\",1000,2000\n\tC: \"OO\",3000,2000\n\
        \tC: \"OP\",4000,3000, \"DiffuseColor\"";
    fbx(&format!("{text}{names}}}\n"), connections)
}

#[test]
fn textures_of_fbx_in_windows_1252_are_found() {
    let names = "FileName: \"C:\\tex\\Böden.png\"\nRelativeFilename: \"Böden.png\"\n";
    let file = latin(&String::from_utf8(fbx_with_texture(names)).unwrap());
    let png = grey_png(&[1, 2, 3, 4]);
    let imported = import_texts(&[("m.fbx", &file), ("Böden.png", &png)]).unwrap();
    assert_eq!(
        imported.scene.images.len(),
        1,
        "{:?}",
        imported.warnings.lines()
    );
    assert_eq!(imported.scene.images[0].bytes, png);
}

#[test]
fn a_texture_of_an_fbx_with_the_path_of_another_machine_alone_is_found() {
    let (wood, other) = (grey_png(&[1, 2, 3, 4]), grey_png(&[5, 6, 7, 8]));
    for written in [
        r"C:\Users\anna\project\textures\wood.png",
        r"C:\Users\anna\Wood.PNG",
        "/home/anna/project/textures/wood.png",
        r"\\server\share\wood.png",
        "D:/maps/wood.png",
    ] {
        let file = fbx_with_texture(&format!("FileName: \"{written}\"\n"));
        for place in ["wood.png", "textures/wood.png", "maps/deep/wood.png"] {
            let files: [(&str, &[u8]); 3] =
                [("m.fbx", &file), (place, &wood), ("bark.png", &other)];
            let imported = import_texts(&files).unwrap();
            let images: Vec<_> = imported.scene.images.iter().map(|it| &it.bytes).collect();
            assert_eq!(
                images,
                [&wood],
                "{written} in {place}: {:?}",
                imported.warnings.lines()
            );
        }
    }
}
