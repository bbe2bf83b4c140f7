//! The binary form of FBX 7.4: records with properties and records inside. Arrays are compressed with zlib.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::super::error::ExportError;

const VERSION: u32 = 7400;
const MAGIC: &[u8] = b"Kaydara FBX Binary  \x00\x1a\x00";
/// What the FBX SDK writes at the end of a file; readers check it at most for its form.
const FOOTER_ID: [u8; 16] = [
    0xfa, 0xbc, 0xab, 0x09, 0xd0, 0xc8, 0xd4, 0x66, 0xb1, 0x76, 0xfb, 0x83, 0x1c, 0xf7, 0x26, 0x7e,
];
const FOOTER_END: [u8; 16] = [
    0xf8, 0x5a, 0x8c, 0x6a, 0xde, 0xf5, 0xd9, 0x7e, 0xec, 0xe9, 0x0c, 0xe3, 0x75, 0x8f, 0x29, 0x0b,
];
/// An empty record ends a list of records.
const END_OF_LIST: [u8; 13] = [0; 13];

/// A value of a record.
#[derive(Debug, Clone)]
pub(super) enum FbxValue {
    I16(i16),
    I32(i32),
    I64(i64),
    F64(f64),
    Text(String),
    Raw(Bytes),
    I32s(Vec<i32>),
    I64s(Vec<i64>),
    F32s(Vec<f32>),
    F64s(Vec<f64>),
}

impl From<&str> for FbxValue {
    fn from(text: &str) -> FbxValue {
        FbxValue::Text(text.to_owned())
    }
}

impl From<String> for FbxValue {
    fn from(text: String) -> FbxValue {
        FbxValue::Text(text)
    }
}

impl From<i32> for FbxValue {
    fn from(number: i32) -> FbxValue {
        FbxValue::I32(number)
    }
}

impl From<i64> for FbxValue {
    fn from(number: i64) -> FbxValue {
        FbxValue::I64(number)
    }
}

impl From<f64> for FbxValue {
    fn from(number: f64) -> FbxValue {
        FbxValue::F64(number)
    }
}

/// A record: a name, values, records inside.
#[derive(Debug, Clone)]
pub(super) struct Record {
    name: &'static str,
    properties: Vec<FbxValue>,
    pub(super) children: Vec<Record>,
}

impl Record {
    pub(super) fn new(name: &'static str) -> Record {
        Record {
            name,
            properties: Vec::new(),
            children: Vec::new(),
        }
    }

    /// A record with one value.
    pub(super) fn of(name: &'static str, value: impl Into<FbxValue>) -> Record {
        Record::new(name).with(value)
    }

    pub(super) fn with(mut self, value: impl Into<FbxValue>) -> Record {
        self.properties.push(value.into());
        self
    }

    pub(super) fn holding(mut self, children: impl IntoIterator<Item = Record>) -> Record {
        self.children.extend(children);
        self
    }
}

/// The bytes of a file with these records.
pub(super) fn file_of(records: &[Record]) -> Result<Vec<u8>, ExportError> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    for record in records {
        write(record, &mut bytes)?;
    }
    bytes.extend(END_OF_LIST);
    bytes.extend(FOOTER_ID);
    bytes.extend([0; 4]);
    let padding = 16 - bytes.len() % 16;
    bytes.extend(std::iter::repeat_n(0, padding));
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([0; 120]);
    bytes.extend(FOOTER_END);
    Ok(bytes)
}

/// Appends a record; its head has the offset of its end, the number of its values and their length.
fn write(record: &Record, bytes: &mut Vec<u8>) -> Result<(), ExportError> {
    let head = bytes.len();
    bytes.extend([0; 12]);
    bytes.push(record.name.len() as u8);
    bytes.extend(record.name.as_bytes());
    let values = bytes.len();
    for property in &record.properties {
        write_property(property, bytes);
    }
    let values_len = bytes.len() - values;
    for child in &record.children {
        write(child, bytes)?;
    }
    if !record.children.is_empty() || record.properties.is_empty() {
        bytes.extend(END_OF_LIST);
    }
    let too_large = |_| ExportError::TooLarge {
        format: "fbx",
        bytes: bytes.len() as u64,
    };
    let end = u32::try_from(bytes.len()).map_err(too_large)?;
    let numbers = [end, record.properties.len() as u32, values_len as u32];
    for (place, number) in numbers.iter().enumerate() {
        bytes[head + place * 4..head + place * 4 + 4].copy_from_slice(&number.to_le_bytes());
    }
    Ok(())
}

fn write_property(property: &FbxValue, bytes: &mut Vec<u8>) {
    let mut sized = |kind: u8, content: &[u8]| {
        bytes.push(kind);
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend(content);
    };
    match property {
        FbxValue::Text(text) => sized(b'S', text.as_bytes()),
        FbxValue::Raw(raw) => sized(b'R', raw),
        FbxValue::I16(number) => plain(b'Y', &number.to_le_bytes(), bytes),
        FbxValue::I32(number) => plain(b'I', &number.to_le_bytes(), bytes),
        FbxValue::I64(number) => plain(b'L', &number.to_le_bytes(), bytes),
        FbxValue::F64(number) => plain(b'D', &number.to_le_bytes(), bytes),
        FbxValue::I32s(list) => array(b'i', list.iter().map(|it| it.to_le_bytes()), bytes),
        FbxValue::I64s(list) => array(b'l', list.iter().map(|it| it.to_le_bytes()), bytes),
        FbxValue::F32s(list) => array(b'f', list.iter().map(|it| it.to_le_bytes()), bytes),
        FbxValue::F64s(list) => array(b'd', list.iter().map(|it| it.to_le_bytes()), bytes),
    }
}

fn plain(kind: u8, content: &[u8], bytes: &mut Vec<u8>) {
    bytes.push(kind);
    bytes.extend(content);
}

fn array<const N: usize>(
    kind: u8,
    elements: impl ExactSizeIterator<Item = [u8; N]>,
    bytes: &mut Vec<u8>,
) {
    let count = elements.len() as u32;
    let raw: Vec<u8> = elements.flatten().collect();
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    let packed = packer.write_all(&raw).and_then(|()| packer.finish());
    let packed = packed.expect("compressing in memory cannot fail");
    bytes.push(kind);
    bytes.extend(count.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes.extend((packed.len() as u32).to_le_bytes());
    bytes.extend(packed);
}
