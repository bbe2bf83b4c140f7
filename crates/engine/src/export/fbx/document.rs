//! The parts that every FBX file has: settings, definitions, objects with ids, connections between them.

use std::collections::BTreeMap;

use super::super::error::ExportError;
use super::binary::{FbxValue, Record, file_of};

/// Ticks in a second.
pub(super) const SECOND: f64 = 46_186_158_000.0;

/// The id of an object; 0 is the root of the scene.
pub(super) type ObjectId = i64;
pub(super) const ROOT: ObjectId = 0;

/// Objects and connections of a file.
#[derive(Default)]
pub(super) struct FbxDocument {
    objects: Vec<Record>,
    connections: Vec<Record>,
    counts: BTreeMap<&'static str, i32>,
}

impl FbxDocument {
    /// Adds an object: `kind` is its record, `class` and `name` make its name, `sub` says what it is exactly.
    pub(super) fn add(
        &mut self,
        kind: &'static str,
        (name, class): (&str, &str),
        sub: &str,
        children: Vec<Record>,
    ) -> ObjectId {
        // Ids of the SDK are large numbers; any are allowed.
        let id = 1_000_000 + self.objects.len() as ObjectId;
        *self.counts.entry(kind).or_default() += 1;
        let record = Record::of(kind, id)
            .with(format!("{name}\0\u{1}{class}"))
            .with(sub)
            .holding(children);
        self.objects.push(record);
        id
    }

    /// Puts an object below another.
    pub(super) fn connect(&mut self, child: ObjectId, parent: ObjectId) {
        let record = Record::of("C", "OO").with(child).with(parent);
        self.connections.push(record);
    }

    /// Puts an object into a property of another.
    pub(super) fn connect_to_property(
        &mut self,
        child: ObjectId,
        parent: ObjectId,
        property: &str,
    ) {
        let record = Record::of("C", "OP")
            .with(child)
            .with(parent)
            .with(property);
        self.connections.push(record);
    }

    /// The bytes of the file.
    pub(super) fn finish(self) -> Result<Vec<u8>, ExportError> {
        let total: i32 = self.counts.values().sum();
        let types = self.counts.iter().map(|(kind, count)| {
            Record::of("ObjectType", *kind).holding([Record::of("Count", *count)])
        });
        let definitions = Record::new("Definitions")
            .holding([Record::of("Version", 100), Record::of("Count", total + 1)])
            .holding([Record::of("ObjectType", "GlobalSettings").holding([Record::of("Count", 1)])])
            .holding(types);
        let header = Record::new("FBXHeaderExtension").holding([
            Record::of("FBXHeaderVersion", 1003),
            Record::of("FBXVersion", 7400),
            Record::of("Creator", "assetfs"),
        ]);
        let document = Record::new("Documents").holding([
            Record::of("Count", 1),
            Record::of("Document", 999_999i64)
                .with("")
                .with("Scene")
                .holding([Record::of("RootNode", 0i64)]),
        ]);
        file_of(&[
            header,
            Record::of("Creator", "assetfs"),
            settings(),
            document,
            Record::new("References"),
            definitions,
            Record::new("Objects").holding(self.objects),
            Record::new("Connections").holding(self.connections),
        ])
    }
}

/// Metres, y up.
fn settings() -> Record {
    let axis = |name: &str, value: i32| property(name, "int", "Integer", [FbxValue::I32(value)]);
    Record::new("GlobalSettings").holding([
        Record::of("Version", 1000),
        properties([
            axis("UpAxis", 1),
            axis("UpAxisSign", 1),
            axis("FrontAxis", 2),
            axis("FrontAxisSign", 1),
            axis("CoordAxis", 0),
            axis("CoordAxisSign", 1),
            axis("OriginalUpAxis", 1),
            axis("OriginalUpAxisSign", 1),
            // In centimetres.
            number("UnitScaleFactor", 100.0),
            number("OriginalUnitScaleFactor", 100.0),
        ]),
    ])
}

pub(super) fn properties(list: impl IntoIterator<Item = Record>) -> Record {
    Record::new("Properties70").holding(list)
}

pub(super) fn property(
    name: &str,
    kind: &str,
    label: &str,
    values: impl IntoIterator<Item = FbxValue>,
) -> Record {
    let record = Record::of("P", name).with(kind).with(label).with("");
    values.into_iter().fold(record, Record::with)
}

pub(super) fn number(name: &str, value: f64) -> Record {
    property(name, "double", "Number", [value.into()])
}

pub(super) fn color(name: &str, value: [f32; 3]) -> Record {
    let values = value.map(|part| FbxValue::F64(part.into()));
    property(name, "Color", "", values)
}

pub(super) fn triple(name: &str, value: [f64; 3]) -> Record {
    property(name, name, "", value.map(FbxValue::F64))
}

pub(super) fn text(name: &str, value: &str) -> Record {
    property(name, "KString", "", [value.into()])
}
