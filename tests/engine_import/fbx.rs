//! FBX as text: its units, its axes, its materials.

use crate::texts::import_texts;

/// A square of two materials below a moved node, as a text FBX file.
const SQUARE_FBX: &str = r#"; FBX 7.4.0 project file
FBXHeaderExtension:  {
	FBXHeaderVersion: 1003
	FBXVersion: 7400
}
GlobalSettings:  {
	Version: 1000
	Properties70:  {
		P: "UpAxis", "int", "Integer", "",2
		P: "UpAxisSign", "int", "Integer", "",1
		P: "FrontAxis", "int", "Integer", "",1
		P: "FrontAxisSign", "int", "Integer", "",-1
		P: "CoordAxis", "int", "Integer", "",0
		P: "CoordAxisSign", "int", "Integer", "",1
		P: "UnitScaleFactor", "double", "Number", "",100
	}
}
Objects:  {
	Geometry: 1000, "Geometry::square", "Mesh" {
		Vertices: *12 {
			a: 0,0,0,1,0,0,1,0,2,0,0,2
		}
		PolygonVertexIndex: *4 {
			a: 0,1,2,-4
		}
		GeometryVersion: 124
		LayerElementMaterial: 0 {
			Version: 101
			Name: ""
			MappingInformationType: "AllSame"
			ReferenceInformationType: "IndexToDirect"
			Materials: *1 {
				a: 0
			}
		}
		Layer: 0 {
			Version: 100
			LayerElement:  {
				Type: "LayerElementMaterial"
				TypedIndex: 0
			}
		}
	}
	Model: 2000, "Model::Square", "Mesh" {
		Version: 232
		Properties70:  {
			P: "Lcl Translation", "Lcl Translation", "", "A",5,0,0
		}
	}
	Material: 3000, "Material::Red", "" {
		Version: 102
		ShadingModel: "phong"
		Properties70:  {
			P: "DiffuseColor", "Color", "", "A",1,0,0
		}
	}
}
Connections:  {
	C: "OO",2000,0
	C: "OO",1000,2000
	C: "OO",3000,2000
}
"#;

#[test]
fn fbx_is_read_in_metres_with_y_up() {
    let imported = import_texts(&[("square.fbx", SQUARE_FBX.as_bytes())]).unwrap();
    let scene = imported.scene;
    assert_eq!(scene.drawn_triangles(), 2);
    let bounds = scene.bounds().unwrap();
    assert!(
        (bounds.size() - glam::Vec3::new(1.0, 2.0, 0.0)).length() < 1e-4,
        "{bounds:?}"
    );
    assert!((bounds.min.x - 5.0).abs() < 1e-4, "{bounds:?}");
    assert_eq!(scene.material(Some(0)).base_color, [1.0, 0.0, 0.0, 1.0]);
    let error = import_texts(&[("broken.fbx", b"Kaydara FBX Binary  \0\x1a\0junk")]).unwrap_err();
    assert!(
        error.starts_with("broken.fbx: cannot be read as FBX"),
        "{error}"
    );
}
