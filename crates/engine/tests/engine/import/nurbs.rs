//! NURBS surfaces of FBX become triangles, in bounded number.

use super::fbx::fbx;
use super::texts::import_texts;
use crate::log_lines::LogLines as _;

/// A patch of 3 × 3 control points whose middle is raised, in one node.
fn patch(order: u32, steps: &str) -> Vec<u8> {
    let objects = format!(
        r#"
	Geometry: 1000, "Geometry::patch", "NurbsSurface" {{
		Type: "NurbsSurface"
		NurbsSurfaceVersion: 100
		SurfaceDisplay: 4,{steps}
		NurbsSurfaceOrder: {order},{order}
		Dimensions: 3,3
		Step: {steps}
		Form: "Open", "Open"
		Points: *36 {{
			a: 0,0,0,1,1,0,0,1,2,0,0,1,0,1,0,1,1,1,2,1,2,1,0,1,0,2,0,1,1,2,0,1,2,2,0,1
		}}
		MultiplicityU: *3 {{
			a: 1,1,1
		}}
		MultiplicityV: *3 {{
			a: 1,1,1
		}}
		KnotVectorU: *6 {{
			a: 0,0,0,1,1,1
		}}
		KnotVectorV: *6 {{
			a: 0,0,0,1,1,1
		}}
		GeometryVersion: 124
	}}
	Model: 2000, "Model::Patch", "NurbsSurface" {{
		Version: 232
	}}
	Material: 3000, "Material::Red", "" {{
		Version: 102
		ShadingModel: "phong"
		Properties70:  {{
			P: "DiffuseColor", "Color", "", "A",1,0,0
		}}
	}}
"#
    );
    fbx(
        &objects,
        "\tC: \"OO\",2000,0\n\tC: \"OO\",1000,2000\n\tC: \"OO\",3000,2000",
    )
}

#[test]
fn a_nurbs_surface_is_divided_into_triangles() {
    let imported = import_texts(&[("patch.fbx", &patch(3, "4,6"))]).unwrap();
    let scene = &imported.scene;
    assert_eq!(scene.drawn_triangles(), 2 * 4 * 6);
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    let size = scene.bounds().unwrap().size();
    assert!(
        (size - glam::Vec3::new(2.0, 0.5, 2.0)).length() < 1e-4,
        "{size}"
    );
    assert_eq!(scene.material(Some(0)).base_color, [1.0, 0.0, 0.0, 1.0]);
    let geometry = &scene.geometries[0];
    let normals = geometry.attribute("NORMAL").expect("normals");
    let world = scene.draws()[0].world;
    for normal in normals.values.chunks_exact(3) {
        let normal = world.transform_vector3(glam::Vec3::from_slice(normal));
        assert!(normal.y > 0.5 && normal.is_normalized(), "{normal}");
    }
    for corners in geometry.indices.chunks_exact(3) {
        let [a, b, c] = [0, 1, 2].map(|corner| geometry.position(corners[corner]));
        let face = world.transform_vector3((b - a).cross(c - a));
        assert!(face.y > 0.0, "the front is where the normals point");
    }
    assert!(geometry.attribute("TEXCOORD_0").is_some());
}

#[test]
fn a_nurbs_surface_never_asks_for_more_triangles_than_the_limit() {
    let imported = import_texts(&[("patch.fbx", &patch(3, "2000000000,2000000000"))]).unwrap();
    assert_eq!(imported.scene.drawn_triangles(), 2 * 16 * 16);
    let error = import_texts(&[("patch.fbx", &patch(90, "4,4"))]).unwrap_err();
    assert_eq!(error, "patch.fbx: holds no meshes");
}
