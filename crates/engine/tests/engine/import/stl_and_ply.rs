//! STL and PLY, as text and as binary.

use super::texts::import_texts;
use crate::log_lines::LogLines as _;

fn binary_stl(count: u32, triangles: usize) -> Vec<u8> {
    let mut bytes = vec![b's'; 80];
    bytes.extend(count.to_le_bytes());
    for triangle in 0..triangles {
        for number in [
            0.0,
            0.0,
            1.0,
            0.0,
            0.0,
            0.0,
            1.0,
            0.0,
            0.0,
            0.0,
            1.0,
            triangle as f32,
        ] {
            bytes.extend(f32::to_le_bytes(number));
        }
        bytes.extend([0, 0]);
    }
    bytes
}

#[test]
fn stl_is_read_as_text_and_as_binary() {
    let text = b"solid part\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n\
vertex 0 1 0\nendloop\nendfacet\nendsolid part\n";
    assert_eq!(
        import_texts(&[("a.stl", text)])
            .unwrap()
            .scene
            .drawn_triangles(),
        1
    );
    let binary = binary_stl(2, 2);
    let imported = import_texts(&[("A.STL", &binary)]).unwrap();
    assert_eq!(imported.scene.drawn_triangles(), 2);
    assert_eq!(imported.scene.geometries[0].vertex_count(), 4);
    assert_eq!(
        import_texts(&[("a.stl", &binary_stl(3_000, 2))]).unwrap_err(),
        "a.stl: is truncated: the header says 3,000 triangles, which take 150,084 bytes, the file has 184"
    );
}

#[test]
fn colours_of_an_stl_and_bytes_after_it_are_named() {
    let mut bytes = binary_stl(2, 2);
    bytes[84 + 48] = 7;
    bytes.extend(b"end");
    let warnings = import_texts(&[("a.stl", &bytes)]).unwrap().warnings.lines();
    assert_eq!(
        warnings,
        [
            "a.stl: 1 triangles have colours or other marks, which are not read [not-read]",
            "a.stl: 3 bytes after the triangles are not read [not-read]"
        ]
    );
}

#[test]
fn ply_is_read_in_every_encoding() {
    let header = |format: &str| {
        format!(
            "ply\nformat {format} 1.0\ncomment made here\nelement vertex 4\nproperty float x\nproperty float y\n\
property float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nelement face 1\n\
property list uchar int vertex_indices\nelement odd 1\nproperty list uchar short s\nend_header\n"
        )
        .into_bytes()
    };
    let corners = [[0f32, 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.]];
    let mut text = header("ascii");
    text.extend(b"0 0 0 255 0 0\n1 0 0 255 0 0\n1 1 0 255 0 0\n0 1 0 255 0 0\n4 0 1 2 3\n2 7 8\n");
    let (mut little, mut big) = (header("binary_little_endian"), header("binary_big_endian"));
    for corner in corners {
        for number in corner {
            little.extend(number.to_le_bytes());
            big.extend(number.to_be_bytes());
        }
        little.extend([255, 0, 0]);
        big.extend([255, 0, 0]);
    }
    little.push(4);
    big.push(4);
    for index in 0..4i32 {
        little.extend(index.to_le_bytes());
        big.extend(index.to_be_bytes());
    }
    little.extend([1, 9, 0]);
    big.extend([1, 0, 9]);
    for bytes in [&text, &little, &big] {
        let imported = import_texts(&[("scan.ply", bytes)]).unwrap();
        let scene = imported.scene;
        assert_eq!(scene.drawn_triangles(), 2);
        assert_eq!(
            scene.geometries[0].attribute("COLOR_0").unwrap().at(3),
            [1.0, 0.0, 0.0]
        );
        assert_eq!(scene.bounds().unwrap().size().to_array(), [1.0, 1.0, 0.0]);
    }
    little.truncate(little.len() - 9);
    let error = import_texts(&[("scan.ply", &little)]).unwrap_err();
    assert!(error.starts_with("scan.ply: is truncated"), "{error}");
}

#[test]
fn ply_with_a_huge_count_asks_for_no_memory() {
    let text =
        b"ply\nformat ascii 1.0\nelement vertex 99999999999\nproperty float x\nend_header\n0\n";
    let error = import_texts(&[("scan.ply", text)]).unwrap_err();
    assert!(error.starts_with("scan.ply: is truncated"), "{error}");
}
