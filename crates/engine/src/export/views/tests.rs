//! How numbers share views and accessors.

use serde_json::json;

use super::*;

#[test]
fn accessors_of_one_use_share_an_aligned_view() {
    let mut views = Views::default();
    views.add_indices(&[0, 1, 2], 3, true);
    views.add_attribute(&Attribute::new("POSITION", 3, vec![0.0; 9]));
    views.add_attribute(&Attribute::new("NORMAL", 3, vec![1.0; 9]));
    let FinishedViews {
        layout, accessors, ..
    } = views.finish();
    let ViewLayout { views, buffer, .. } = layout;
    assert_eq!((views.len(), accessors.len()), (2, 3));
    assert_eq!(views[1]["byteOffset"], 8);
    assert_eq!(accessors[2]["byteOffset"], 36);
    assert_eq!(buffer.len(), 8 + 72);
    assert_eq!(accessors[1]["max"], json!([0.0, 0.0, 0.0]));
}

#[test]
fn equal_numbers_are_written_once_whatever_they_are() {
    let mut views = Views::default();
    let numbers = vec![0.0, 0.6, 0.8, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let indices = ["_OWN", "NORMAL", "POSITION", "POSITION"]
        .map(|name| views.add_attribute(&Attribute::new(name, 3, numbers.clone())));
    assert_eq!(indices, [0; 4]);
    let FinishedViews {
        layout, accessors, ..
    } = views.finish();
    let buffer = layout.buffer;
    assert_eq!((accessors.len(), buffer.len()), (1, 36));
    assert_eq!(accessors[0]["max"], json!([1.0_f32, 1.0, 0.8_f32]));
}

#[test]
fn bytes_of_a_vertex_are_padded_to_four() {
    let mut colour = Attribute::new("COLOR_0", 3, vec![1.0, 0.5, 0.0, 0.0, 0.0, 1.0]);
    colour.storage = Storage {
        component: ComponentType::U8,
        normalized: true,
    };
    let mut views = Views::default();
    views.add_attribute(&colour);
    let ViewLayout { views, buffer, .. } = views.finish().layout;
    assert_eq!(views[0]["byteStride"], 4);
    assert_eq!(buffer, [255, 128, 0, 0, 0, 0, 255, 0]);
}

#[test]
fn few_displacements_are_stored_sparse() {
    let mut values = vec![0.0; 300];
    values[30] = 2.0;
    let mut views = Views::default();
    views.add_sparse_attribute(&Attribute::new("POSITION", 3, values));
    let FinishedViews {
        layout, accessors, ..
    } = views.finish();
    let buffer = layout.buffer;
    assert_eq!(accessors[0]["sparse"]["count"], 1);
    assert_eq!(accessors[0]["max"], json!([2.0, 0.0, 0.0]));
    assert_eq!(buffer.len(), 4 + 12);
}
