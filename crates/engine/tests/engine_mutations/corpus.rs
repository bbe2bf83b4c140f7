//! Small models to start from, one list for each importer: written by our own exporters where there is
//! one, by hand where there is none. Small, because a mutation of a small file hits something.

use std::io::{Cursor, Read as _, Write as _};

use assetfs_engine::document::glb;
use assetfs_engine::export::{gltf, ply, stl, usdz};
use assetfs_engine::import::import;
use assetfs_engine::scene::Scene;
use assetfs_engine::settings::MeshCompression;
use serde_json::{Value, json};

/// What is mutated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Glb,
    Gltf,
    Draco,
    Meshopt,
    Obj,
    Mtl,
    Stl,
    Ply,
    Fbx,
    Usda,
    Usdc,
    Usdz,
    Zip,
    Ktx2,
    Webp,
    Avif,
    /// The glb that `assetfs-cad` hands over: that of `bracket.step`, with few triangles.
    Cad,
    /// Glb files that are rebaked.
    Rebake,
    Settings,
}

impl Target {
    pub const ALL: [Target; 19] = [
        Target::Glb,
        Target::Gltf,
        Target::Draco,
        Target::Meshopt,
        Target::Obj,
        Target::Mtl,
        Target::Stl,
        Target::Ply,
        Target::Fbx,
        Target::Usda,
        Target::Usdc,
        Target::Usdz,
        Target::Zip,
        Target::Ktx2,
        Target::Webp,
        Target::Avif,
        Target::Cad,
        Target::Rebake,
        Target::Settings,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Target::Glb => "glb",
            Target::Gltf => "gltf",
            Target::Draco => "draco",
            Target::Meshopt => "meshopt",
            Target::Obj => "obj",
            Target::Mtl => "mtl",
            Target::Stl => "stl",
            Target::Ply => "ply",
            Target::Fbx => "fbx",
            Target::Usda => "usda",
            Target::Usdc => "usdc",
            Target::Usdz => "usdz",
            Target::Zip => "zip",
            Target::Ktx2 => "ktx2",
            Target::Webp => "webp",
            Target::Avif => "avif",
            Target::Cad => "cad",
            Target::Rebake => "rebake",
            Target::Settings => "settings",
        }
    }

    /// The name of the file that holds the mutated bytes.
    pub fn file(self) -> &'static str {
        match self {
            Target::Glb | Target::Draco | Target::Meshopt | Target::Rebake => "m.glb",
            Target::Gltf => "m.gltf",
            Target::Obj => "m.obj",
            Target::Mtl => "m.mtl",
            Target::Stl => "m.stl",
            Target::Ply => "m.ply",
            Target::Fbx => "m.fbx",
            Target::Usda => "m.usda",
            Target::Usdc => "m.usdc",
            Target::Usdz => "m.usdz",
            Target::Zip => "m.zip",
            Target::Ktx2 => "m.ktx2",
            Target::Webp => "m.webp",
            Target::Avif => "m.avif",
            Target::Cad => "m.step",
            Target::Settings => "m.json",
        }
    }

    /// Whether a damaged count may make the reader ask for more memory than there is: the library for binary USD layers
    /// believes the counts of values.
    pub fn may_end_without_memory(self) -> bool {
        self == Target::Usdc
    }

    /// Files that stand beside it, unchanged.
    pub fn beside(self) -> Vec<(&'static str, Vec<u8>)> {
        match self {
            Target::Mtl => vec![("m.obj", OBJ.as_bytes().to_vec()), ("m.png", pixel())],
            Target::Usda | Target::Usdc => vec![("part.usda", USD_PART.into()), ("m.png", pixel())],
            Target::Obj => vec![("m.mtl", MTL.as_bytes().to_vec()), ("m.png", pixel())],
            _ => Vec::new(),
        }
    }

    pub fn samples(self) -> Vec<Vec<u8>> {
        match self {
            Target::Glb => vec![rich_glb(), grid_as(MeshCompression::None)],
            Target::Gltf => vec![
                as_gltf(&rich_glb()),
                as_gltf(&grid_as(MeshCompression::None)),
            ],
            Target::Draco => vec![grid_as(MeshCompression::Draco)],
            Target::Meshopt => vec![grid_as(MeshCompression::Meshopt)],
            Target::Obj => vec![OBJ.into(), grid_obj().into(), RELATIVE_OBJ.into()],
            Target::Mtl => vec![MTL.into()],
            Target::Stl => vec![stl::write_stl(&grid()), TEXT_STL.into()],
            Target::Ply => vec![ply::write_ply(&grid()), TEXT_PLY.into(), cloud_ply()],
            Target::Fbx => vec![TEXT_FBX.into(), binary_fbx()],
            Target::Usda => vec![USDA.into(), stage_of(&rich())],
            Target::Usdc => vec![as_usdc(USDA), as_usdc(&text_of(stage_of(&rich())))],
            Target::Usdz => vec![usdz::write_usdz(&rich(), "m").unwrap()],
            Target::Zip => vec![
                zipped(&[
                    ("m.obj", OBJ.as_bytes()),
                    ("m.mtl", MTL.as_bytes()),
                    ("m.png", &pixel()),
                ]),
                zipped(&[("a/b.glb", &rich_glb()), ("__MACOSX/._b.glb", b"junk")]),
            ],
            Target::Ktx2 => [
                &include_bytes!("../../../../tests/fixtures/textures/etc1s.ktx2")[..],
                include_bytes!("../../../../tests/fixtures/textures/etc1s-alpha.ktx2"),
                include_bytes!("../../../../tests/fixtures/textures/uastc.ktx2"),
                include_bytes!("../../../../tests/fixtures/textures/uastc-zstd.ktx2"),
            ]
            .map(<[u8]>::to_vec)
            .into(),
            Target::Webp => [
                &include_bytes!("../../../../tests/fixtures/textures/lossless.webp")[..],
                include_bytes!("../../../../tests/fixtures/textures/lossy.webp"),
                include_bytes!("../../../../tests/fixtures/textures/lossy-alpha.webp"),
            ]
            .map(<[u8]>::to_vec)
            .into(),
            Target::Avif => [
                &include_bytes!("../../../../tests/fixtures/textures/lossless.avif")[..],
                include_bytes!("../../../../tests/fixtures/textures/lossy.avif"),
                include_bytes!("../../../../tests/fixtures/textures/lossy-alpha.avif"),
                include_bytes!("../../../../tests/fixtures/textures/10-bit.avif"),
                include_bytes!("../../../../tests/fixtures/textures/grey.avif"),
            ]
            .map(<[u8]>::to_vec)
            .into(),
            Target::Cad => vec![include_bytes!("bracket.glb").to_vec()],
            Target::Rebake => vec![patches_glb()],
            Target::Settings => [
                include_str!("../../../../tests/fixtures/wire/config-layout-a.json"),
                include_str!("../../../../tests/fixtures/wire/config-layout-b.json"),
            ]
            .map(|text| text.as_bytes().to_vec())
            .into(),
        }
    }
}

/// A scene with most kinds of things.
fn rich() -> Scene {
    scene_of("m.glb", &rich_glb())
}

/// The layer in the package that our exporter writes.
fn stage_of(scene: &Scene) -> Vec<u8> {
    let package = usdz::write_usdz(scene, "m").unwrap();
    let mut archive = zip::ZipArchive::new(Cursor::new(package)).unwrap();
    let mut layer = Vec::new();
    archive
        .by_name("m.usda")
        .unwrap()
        .read_to_end(&mut layer)
        .unwrap();
    layer
}

fn text_of(layer: Vec<u8>) -> String {
    String::from_utf8(layer).unwrap()
}

/// The binary form of a layer.
fn as_usdc(text: &str) -> Vec<u8> {
    let layer = openusd::usda::parse(text).unwrap();
    let mut bytes = Cursor::new(Vec::new());
    openusd::usdc::CrateWriter::write(&layer, &mut bytes).unwrap();
    bytes.into_inner()
}

fn scene_of(name: &str, bytes: &[u8]) -> Scene {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(name), bytes).unwrap();
    import(dir.path(), &[name.to_owned()]).unwrap().scene
}

/// A wavy square of 6 by 6 with normals and texture coordinates.
fn grid_obj() -> String {
    let mut text = String::from("o grid\n");
    for at in 0..49 {
        let (x, y) = (f64::from(at % 7), f64::from(at / 7));
        text += &format!(
            "v {x} {y} {:.4}\nvt {:.4} {:.4}\n",
            (x * y).sin() * 0.3,
            x / 6.0,
            y / 6.0
        );
    }
    for at in (0..42).filter(|at| at % 7 < 6) {
        let [a, b, c, d] = [at + 1, at + 2, at + 9, at + 8];
        text += &format!("f {a}/{a} {b}/{b} {c}/{c} {d}/{d}\n");
    }
    text
}

fn grid() -> Scene {
    scene_of("m.obj", grid_obj().as_bytes())
}

fn grid_as(compression: MeshCompression) -> Vec<u8> {
    gltf::write_glb(&grid(), compression).unwrap()
}

/// Three of the wavy squares with a texture: two opaque ones, and one that is blended, double-sided and mirrored.
fn patches_glb() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let text = grid_obj().replace("f 1/1", "usemtl red\nf 1/1");
    let files = [
        ("m.obj", format!("mtllib m.mtl\n{text}").into_bytes()),
        (
            "m.mtl",
            b"newmtl red\nmap_Kd m.png\nmap_Bump m.png\n".to_vec(),
        ),
        ("m.png", pixel()),
    ];
    for (name, bytes) in &files {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    let names = files.map(|(name, _)| name.to_owned());
    let mut scene = import(dir.path(), &names).unwrap().scene;
    let mesh = scene.list("nodes")[0]["mesh"].clone();
    let mirrored = json!({ "mesh": 1, "scale": [-1, 1, 1] });
    scene.meshes.push(scene.meshes[0].clone());
    scene.meshes[1].primitives[0].material = Some(1);
    scene.json["nodes"] =
        json!([{ "mesh": mesh }, mirrored, { "mesh": mesh, "translation": [0, 0, 2] }]);
    scene.json["scenes"] = json!([{ "nodes": [0, 1, 2] }]);
    let mut blended = scene.list("materials")[0].clone();
    blended["alphaMode"] = "BLEND".into();
    blended["doubleSided"] = true.into();
    scene.list_mut("materials").unwrap().push(blended);
    gltf::write_glb(&scene, MeshCompression::None).unwrap()
}

/// A GLB with most kinds of references: skin, animation, morph target, sparse accessor, texture.
pub fn rich_glb() -> Vec<u8> {
    let floats = |numbers: &[f32]| -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    };
    let mut bin = floats(&[0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0.]);
    bin.extend([0u16, 1, 2, 2, 1, 3].map(u16::to_le_bytes).concat());
    bin.extend([0u8; 16]); // joints, at 60
    bin.extend(floats(&[1., 0., 0., 0.].repeat(4))); // weights, at 76
    bin.extend(floats(&[
        1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.,
    ])); // at 140
    bin.extend(floats(&[0., 1.])); // key times, at 204
    bin.extend(floats(&[0., 0., 0., 0., 1., 0.])); // moves, at 212
    let image_at = bin.len();
    bin.extend(pixel());
    let image_len = bin.len() - image_at;
    let json = json!({
        "asset": { "version": "2.0" },
        "scene": 0, "scenes": [{ "nodes": [0, 1] }],
        "nodes": [
            { "mesh": 0, "skin": 0, "name": "a" },
            { "children": [2], "translation": [0, 1, 0] },
            { "rotation": [0, 0, 0, 1], "mesh": 0, "extensions": { "EXT_mesh_gpu_instancing": {
                "attributes": { "TRANSLATION": 7 } } } },
        ],
        "skins": [{ "joints": [1], "inverseBindMatrices": 5 }],
        "animations": [{
            "channels": [{ "sampler": 0, "target": { "node": 1, "path": "translation" } }],
            "samplers": [{ "input": 6, "output": 7, "interpolation": "LINEAR" }],
        }],
        "meshes": [{ "weights": [0.5], "primitives": [{
            "attributes": { "POSITION": 0, "JOINTS_0": 3, "WEIGHTS_0": 4, "TEXCOORD_0": 8 },
            "indices": 1, "material": 0, "targets": [{ "POSITION": 2 }],
        }] }],
        "materials": [{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } },
            "extensions": { "KHR_materials_clearcoat": { "clearcoatTexture": { "index": 0 } } } }],
        "textures": [{ "source": 0, "sampler": 0 }], "samplers": [{}],
        "images": [{ "bufferView": 7, "mimeType": "image/png" }],
        "extensionsUsed": ["KHR_materials_clearcoat", "EXT_mesh_gpu_instancing"],
        "buffers": [{ "byteLength": bin.len() }],
        "bufferViews": [
            { "buffer": 0, "byteLength": 48 }, { "buffer": 0, "byteOffset": 48, "byteLength": 12 },
            { "buffer": 0, "byteOffset": 60, "byteLength": 16 },
            { "buffer": 0, "byteOffset": 76, "byteLength": 64 },
            { "buffer": 0, "byteOffset": 140, "byteLength": 64 },
            { "buffer": 0, "byteOffset": 204, "byteLength": 8 },
            { "buffer": 0, "byteOffset": 212, "byteLength": 24 },
            { "buffer": 0, "byteOffset": image_at, "byteLength": image_len },
        ],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3" },
            { "bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR" },
            { "componentType": 5126, "count": 4, "type": "VEC3", "sparse": {
                "count": 1,
                "indices": { "bufferView": 1, "componentType": 5123 },
                "values": { "bufferView": 0 },
            } },
            { "bufferView": 2, "componentType": 5121, "count": 4, "type": "VEC4" },
            { "bufferView": 3, "componentType": 5126, "count": 4, "type": "VEC4" },
            { "bufferView": 4, "componentType": 5126, "count": 1, "type": "MAT4" },
            { "bufferView": 5, "componentType": 5126, "count": 2, "type": "SCALAR" },
            { "bufferView": 6, "componentType": 5126, "count": 2, "type": "VEC3" },
            { "bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC2" },
        ],
    });
    glb::join(json.to_string().as_bytes(), &bin)
}

/// The same with its buffer in a data URI.
fn as_gltf(bytes: &[u8]) -> Vec<u8> {
    use base64::Engine as _;
    let parts = glb::split("m.glb", &bytes.to_vec().into()).unwrap();
    let mut json: Value = serde_json::from_slice(&parts.json).unwrap();
    let data = base64::engine::general_purpose::STANDARD.encode(parts.bin.unwrap());
    json["buffers"][0]["uri"] = format!("data:application/octet-stream;base64,{data}").into();
    json.to_string().into_bytes()
}

fn pixel() -> Vec<u8> {
    let mut bytes = Vec::new();
    let image = image::RgbaImage::from_fn(4, 4, |x, y| {
        image::Rgba([x as u8 * 60, y as u8 * 60, 9, 255])
    });
    image
        .write_to(
            &mut std::io::Cursor::new(&mut bytes),
            image::ImageFormat::Png,
        )
        .unwrap();
    bytes
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer
            .start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Points with colours, big-endian.
fn cloud_ply() -> Vec<u8> {
    let mut bytes = b"ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty double x\n\
        property float y\nproperty short z\nproperty uchar red\nproperty uchar green\n\
        property uchar blue\nelement face 1\nproperty list uchar uint vertex_indices\nend_header\n"
        .to_vec();
    for at in 0..3u8 {
        bytes.extend(f64::from(at).to_be_bytes());
        bytes.extend(f32::from(at * at).to_be_bytes());
        bytes.extend(i16::from(at % 2).to_be_bytes());
        bytes.extend([at, 9, 200]);
    }
    bytes.push(3);
    bytes.extend([0u32, 1, 2].map(u32::to_be_bytes).concat());
    bytes
}

/// A triangle in the binary form of FBX: nested records, each with the place where it ends.
fn binary_fbx() -> Vec<u8> {
    enum Property<'a> {
        Long(i64),
        Text(&'a str),
        Doubles(&'a [f64]),
        Ints(&'a [i32]),
    }
    use Property::{Doubles, Ints, Long, Text};
    fn array(bytes: &mut Vec<u8>, kind: u8, count: usize, data: &[u8]) {
        bytes.push(kind);
        for number in [count, 0, data.len()] {
            bytes.extend((number as u32).to_le_bytes());
        }
        bytes.extend(data);
    }
    fn record(
        bytes: &mut Vec<u8>,
        name: &str,
        properties: &[Property<'_>],
        inner: &dyn Fn(&mut Vec<u8>),
    ) {
        let start = bytes.len();
        bytes.extend([0; 12]);
        bytes.push(name.len() as u8);
        bytes.extend(name.as_bytes());
        let first = bytes.len();
        for property in properties {
            match property {
                Long(number) => {
                    bytes.push(b'L');
                    bytes.extend(number.to_le_bytes());
                }
                Text(text) => {
                    bytes.push(b'S');
                    bytes.extend((text.len() as u32).to_le_bytes());
                    bytes.extend(text.as_bytes());
                }
                Doubles(numbers) => {
                    let data: Vec<u8> = numbers
                        .iter()
                        .flat_map(|number| number.to_le_bytes())
                        .collect();
                    array(bytes, b'd', numbers.len(), &data);
                }
                Ints(numbers) => {
                    let data: Vec<u8> = numbers
                        .iter()
                        .flat_map(|number| number.to_le_bytes())
                        .collect();
                    array(bytes, b'i', numbers.len(), &data);
                }
            }
        }
        let length = (bytes.len() - first) as u32;
        let before = bytes.len();
        inner(bytes);
        if bytes.len() > before {
            bytes.extend([0; 13]);
        }
        let end = bytes.len() as u32;
        bytes[start..start + 4].copy_from_slice(&end.to_le_bytes());
        bytes[start + 4..start + 8].copy_from_slice(&(properties.len() as u32).to_le_bytes());
        bytes[start + 8..start + 12].copy_from_slice(&length.to_le_bytes());
    }
    let mut bytes = b"Kaydara FBX Binary  \0\x1a\0".to_vec();
    bytes.extend(7400u32.to_le_bytes());
    let leaf = |_: &mut Vec<u8>| {};
    record(&mut bytes, "Objects", &[], &|bytes| {
        let name = [Long(1000), Text("g\0\x01Geometry"), Text("Mesh")];
        record(bytes, "Geometry", &name, &|bytes| {
            let corners = [0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0.];
            record(bytes, "Vertices", &[Doubles(&corners)], &leaf);
            record(bytes, "PolygonVertexIndex", &[Ints(&[0, 1, 2, !3])], &leaf);
        });
        let name = [Long(2000), Text("m\0\x01Model"), Text("Mesh")];
        record(bytes, "Model", &name, &leaf);
    });
    record(&mut bytes, "Connections", &[], &|bytes| {
        record(bytes, "C", &[Text("OO"), Long(2000), Long(0)], &leaf);
        record(bytes, "C", &[Text("OO"), Long(1000), Long(2000)], &leaf);
    });
    bytes.extend([0; 13]);
    bytes
}

const OBJ: &str = "mtllib m.mtl\no one\nv 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 1 1 0 0 0 1\nv 0 1 0.5 1 1 1\nvt 0 0\nvt 1 0\n\
    vt 1 1\nvn 0 0 1\nusemtl red\nf 1/1/1 2/2/1 3/3/1\ng two\nusemtl blue\nf 1//1 3//1 4//1\nf 4 3 2 1\n";

const RELATIVE_OBJ: &str =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 1e3 .5 \\\n-2\nf 1 -1 2\ns off\nl 1 2\np 1\n";

const MTL: &str = "newmtl red\nKd 1 0 0\nd 0.5\nNs 30\nmap_Kd -s 1 1 1 m.png\nmap_Bump -bm 0.3 m.png\nnewmtl blue\n\
    Kd 0 0 1\nKe 1 1 1\nPr 0.3\nPm 1\nmap_d m.png\nTr 0.2\n";

const TEXT_STL: &str = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n\
    endloop\nendfacet\nfacet normal 0 0 1\nouter loop\nvertex 1 0 0\nvertex 1 1 0\nvertex 0 1 0\nendloop\n\
    endfacet\nendsolid a\n";

const TEXT_PLY: &str = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n\
    property float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nelement face 2\n\
    property list uchar int vertex_indices\nend_header\n0 0 0 255 0 0\n1 0 0 0 255 0\n1 1 0 0 0 255\n\
    0 1 0 9 9 9\n3 0 1 2\n4 0 1 2 3\n";

const TEXT_FBX: &str = r#"; FBX 7.4.0 project file
FBXHeaderExtension:  { FBXVersion: 7400 }
Objects:  {
	Geometry: 1000, "Geometry::g", "Mesh" {
		Vertices: *12 { a: 0,0,0,1,0,0,1,0,2,0,0,2 }
		PolygonVertexIndex: *4 { a: 0,1,2,-4 }
		LayerElementUV: 0 {
			MappingInformationType: "ByPolygonVertex"
			ReferenceInformationType: "IndexToDirect"
			UV: *4 { a: 0,0,1,1 }
			UVIndex: *4 { a: 0,1,1,0 }
		}
		LayerElementMaterial: 0 {
			MappingInformationType: "AllSame"
			ReferenceInformationType: "IndexToDirect"
			Materials: *1 { a: 0 }
		}
		Layer: 0 {
			LayerElement:  { Type: "LayerElementMaterial" TypedIndex: 0 }
			LayerElement:  { Type: "LayerElementUV" TypedIndex: 0 }
		}
	}
	Model: 2000, "Model::m", "Mesh" {
		Properties70:  { P: "Lcl Translation", "Lcl Translation", "", "A",5,0,0 }
	}
	Material: 3000, "Material::r", "" {
		Properties70:  { P: "DiffuseColor", "Color", "", "A",1,0,0 }
	}
}
Connections:  {
	C: "OO",2000,0
	C: "OO",1000,2000
	C: "OO",3000,2000
}
"#;

/// A layer with instances, a reference, a payload, variants, subsets, primvars with indices, a material with textures and
/// a skeleton.
const USDA: &str = include_str!("rich.usda");

/// The layer that it names.
const USD_PART: &str = "#usda 1.0\n(\n    defaultPrim = \"Part\"\n)\ndef Mesh \"Part\"\n{\n    \
    int[] faceVertexCounts = [4]\n    int[] faceVertexIndices = [0, 1, 2, 3]\n    \
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\n}\n";
