//! PLY, OBJ and MTL.

use super::super::texts::grey_png;
use super::{Upload, no_row_is_silent};

/// A square with a property of vertices, one of faces, and an element more; each with its values.
fn ply(vertex: [&str; 2], face: [&str; 2], element: [&str; 2], comment: &str) -> Upload {
    let mut text = format!(
        "ply\nformat ascii 1.0\n{comment}element vertex 4\nproperty float x\nproperty float y\nproperty float z\n{}\
         element face 2\nproperty list uchar int vertex_indices\n{}{}end_header\n",
        vertex[0], face[0], element[0]
    );
    for place in ["0 0 0", "1 0 0", "1 1 0", "0 1 0"] {
        text += &format!("{place} {}\n", vertex[1]);
    }
    for corners in ["3 0 1 2", "3 0 2 3"] {
        text += &format!("{corners} {}\n", face[1]);
    }
    text += element[1];
    vec![
        ("m.ply".to_owned(), text.into_bytes()),
        ("a.png".to_owned(), grey_png(&[1, 2, 3, 4])),
    ]
}

#[test]
fn every_element_and_property_of_a_ply_is_read_or_named() {
    const NONE: [&str; 2] = ["", ""];
    let plain = ply(NONE, NONE, NONE, "");
    let mut rows = Vec::new();
    for names in [
        "nx ny nz",
        "s t",
        "u v",
        "texture_u texture_v",
        "red green blue",
        "r g b",
        "diffuse_red diffuse_green diffuse_blue",
        "alpha",
        "quality",
        "confidence",
        "intensity",
        "flags",
        "radius",
        "curvature",
        "label",
        "texture_w",
        "velocity",
        "ambient_red",
        "specular_power",
        "f_dc_0",
        "opacity",
    ] {
        let declared: String = names
            .split(' ')
            .map(|name| format!("property float {name}\n"))
            .collect();
        let values = vec!["0.5"; names.split(' ').count()].join(" ");
        let name = names.split(' ').next().unwrap();
        rows.push((name, ply([&declared, &values], NONE, NONE, "")));
    }
    rows.push((
        "marks",
        ply(["property list uchar int marks\n", "1 7"], NONE, NONE, ""),
    ));
    for (name, declared, values) in [
        (
            "red",
            "property uchar red\nproperty uchar green\nproperty uchar blue\n",
            "9 9 9",
        ),
        (
            "texcoord",
            "property list uchar float texcoord\n",
            "6 0 0 1 0 1 1",
        ),
        (
            "color",
            "property list uchar float color\n",
            "9 0 0 1 0 1 1 0 0 1",
        ),
        ("texnumber", "property int texnumber\n", "1"),
        ("quality", "property float quality\n", "0.5"),
        ("flags", "property int flags\n", "3"),
        (
            "nx",
            "property float nx\nproperty float ny\nproperty float nz\n",
            "0 0 1",
        ),
        ("material_index", "property int material_index\n", "2"),
        ("weights", "property list uchar float weights\n", "2 1 2"),
    ] {
        rows.push((name, ply(NONE, [declared, values], NONE, "")));
    }
    for (name, declared, values) in [
        (
            "edge",
            "element edge 1\nproperty int vertex1\nproperty int vertex2\n",
            "0 1\n",
        ),
        (
            "tristrips",
            "element tristrips 1\nproperty list int int vertex_indices\n",
            "3 0 1 2\n",
        ),
        (
            "camera",
            "element camera 1\nproperty float view_px\n",
            "5\n",
        ),
        (
            "material",
            "element material 1\nproperty int ambient_red\n",
            "5\n",
        ),
        (
            "range_grid",
            "element range_grid 1\nproperty list uchar int vertex_indices\n",
            "1 0\n",
        ),
        (
            "multi_texture_vertex",
            "element multi_texture_vertex 1\nproperty float u\n",
            "5\n",
        ),
        (
            "multi_texture_face",
            "element multi_texture_face 1\nproperty list uchar int i\n",
            "1 5\n",
        ),
        (
            "cell",
            "element cell 1\nproperty list uchar int vertex_indices\n",
            "4 0 1 2 3\n",
        ),
    ] {
        rows.push((name, ply(NONE, NONE, [declared, values], "")));
    }
    rows.push((
        "a.png",
        ply(NONE, NONE, NONE, "comment TextureFile a.png\n"),
    ));
    rows.push(("bytes", ply(NONE, NONE, ["", "1 2 3\n"], "")));
    no_row_is_silent(
        rows.into_iter()
            .map(|(name, with)| (name.to_owned(), plain.clone(), with)),
    );
}

const OBJ: &str = "mtllib m.mtl\no square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n\
    usemtl m\nf 1/1 2/2 3/3 4/4\n";

fn obj(obj: &str, mtl: &str) -> Upload {
    let image = |name: &str, value: u8| (name.to_owned(), grey_png(&[value, 20, 30, 40]));
    vec![
        ("m.obj".to_owned(), obj.as_bytes().to_vec()),
        ("m.mtl".to_owned(), format!("newmtl m\n{mtl}").into_bytes()),
        image("a.png", 10),
        image("b.png", 90),
    ]
}

#[test]
fn every_statement_of_an_mtl_is_read_or_named() {
    let plain = obj(OBJ, "map_Kd a.png\n");
    let numbers = [
        "Ka .2 .3 .4",
        "Kd .2 .3 .4",
        "Ks .2 .3 .4",
        "Ke .2 .3 .4",
        "Km .5",
        "Ns 7",
        "Ni 1.7",
        "d .5",
        "d -halo .5",
        "Tr .5",
        "Tf .2 .3 .4",
        "illum 7",
        "sharpness 60",
        "Pr .3",
        "Pm .3",
        "Ps .3",
        "Pc .3",
        "Pcr .3",
        "aniso .3",
        "anisor .3",
        "Kd xyz 1 1 1",
        "Kd spectral a.rfl",
        "own 3",
    ];
    let maps = [
        "map_Ka",
        "map_Ks",
        "map_Ke",
        "map_Ns",
        "map_d",
        "map_Tr",
        "map_bump",
        "bump",
        "norm",
        "disp",
        "decal",
        "refl",
        "map_Pr",
        "map_Pm",
        "map_Ps",
        "map_ao",
        "map_opacity",
        "map_aat on",
        "map_RMA",
        "map_own",
    ];
    let options = [
        "-blendu off",
        "-blendv off",
        "-boost 2",
        "-cc on",
        "-clamp on",
        "-imfchan r",
        "-mm .1 2",
        "-o .1 .2 .3",
        "-s 2 3",
        "-t .1 .1 .1",
        "-texres 64",
        "-type sphere",
        "-bm 2",
    ];
    let first = |text: &str| text.split(' ').next().unwrap().to_owned();
    let numbers = numbers.map(|line| (first(line), format!("map_Kd a.png\n{line}\n")));
    let maps = maps.map(|key| {
        (
            first(key).to_lowercase(),
            format!("map_Kd a.png\n{key} b.png\n"),
        )
    });
    let options = options.map(|option| (first(option), format!("map_Kd {option} a.png\n")));
    let rows = numbers.into_iter().chain(maps).chain(options);
    no_row_is_silent(rows.map(|(name, mtl)| (name, plain.clone(), obj(OBJ, &mtl))));
}

#[test]
fn every_statement_of_an_obj_is_read_or_named() {
    let mtl = "Kd 1 0 0\n";
    let plain = obj(OBJ, mtl);
    let words = [
        "vp",
        "cstype",
        "deg",
        "bmat",
        "step",
        "parm",
        "trim",
        "hole",
        "scrv",
        "sp",
        "end",
        "con",
        "mg",
        "bevel",
        "c_interp",
        "d_interp",
        "lod",
        "usemap",
        "maplib",
        "shadow_obj",
        "trace_obj",
        "ctech",
        "stech",
        "call",
        "csh",
        "s",
        "own",
    ];
    let words = words.map(|word| (word.to_owned(), format!("{OBJ}{word} 1 2\n")));
    let shapes = ["l", "p", "curv", "curv2", "surf"];
    let shapes = shapes.map(|word| ("left out".to_owned(), format!("{OBJ}{word} 1 2\n")));
    let changed = [
        ("v", OBJ.replace("v 0 0 0", "v 0 0 0 1 0 0")),
        ("v", OBJ.replace("v 0 0 0", "v 0 0 0 1 0 0 .5")),
        ("vertices", OBJ.replace("v 0 0 0", "v 0 0 0 1 1 0 0 .5")),
        ("third number", OBJ.replace("vt 0 0", "vt 0 0 .5")),
        (
            "normals",
            OBJ.replace("f 1/1 2/2 3/3", "vn 1 0 0\nf 1/1/1 2/2/1 3/3/1"),
        ),
        ("groups", OBJ.replace("f ", "g a\nf ") + "g b\nf 1 2 3\n"),
        ("corners", OBJ.to_owned() + "f 1 2\n"),
        ("#MRGB", OBJ.to_owned() + "#MRGB ff000000\n"),
    ];
    let changed = changed.map(|(name, text)| (name.to_owned(), text));
    let rows = words.into_iter().chain(shapes).chain(changed);
    no_row_is_silent(rows.map(|(name, text)| (name, plain.clone(), obj(&text, mtl))));
}
