//! The GLB container: a header, a JSON chunk, at most one binary chunk.
//!
//! Reading checks every length before it slices and copies nothing; writing pads to four bytes as
//! the format requires. The content of the JSON is not examined here.

use bytes::Bytes;

use super::error::DocumentError;

const MAGIC: &[u8; 4] = b"glTF";
const HEADER_LEN_BYTES: usize = 12;
const CHUNK_HEADER_LEN_BYTES: usize = 8;
const CHUNK_JSON: u32 = 0x4E4F_534A;
const CHUNK_BIN: u32 = 0x004E_4942;

/// The two parts of a GLB file.
#[derive(Debug)]
pub struct GlbParts {
    pub json: Bytes,
    /// The binary chunk, where there is one.
    pub bin: Option<Bytes>,
}

/// Whether the bytes start like a GLB file.
pub fn is_glb(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Splits a GLB file into its chunks.
///
/// # Errors
/// When the header, a chunk or the length is wrong.
pub fn split(file: &str, bytes: &Bytes) -> Result<GlbParts, DocumentError> {
    let total = check_header(file, bytes)?;
    let mut parts = GlbParts {
        json: Bytes::new(),
        bin: None,
    };
    let mut at = HEADER_LEN_BYTES;
    let mut index = 0;
    while at + CHUNK_HEADER_LEN_BYTES <= total {
        let length = read_u32(bytes, at) as usize;
        let kind = read_u32(bytes, at + 4);
        let start = at + CHUNK_HEADER_LEN_BYTES;
        let end = start.checked_add(length).filter(|end| *end <= total);
        let Some(end) = end else {
            return Err(container(
                file,
                format!("chunk {index} is longer than the file"),
            ));
        };
        match (index, kind) {
            (0, CHUNK_JSON) => parts.json = bytes.slice(start..end),
            (0, _) => return Err(container(file, "the first chunk is not JSON".to_owned())),
            (_, CHUNK_BIN) if parts.bin.is_none() => parts.bin = Some(bytes.slice(start..end)),
            // The format asks readers to skip chunks that they do not know.
            _ => {}
        }
        at = end;
        index += 1;
    }
    if index == 0 {
        return Err(container(file, "it has no JSON chunk".to_owned()));
    }
    Ok(parts)
}

fn check_header(file: &str, bytes: &Bytes) -> Result<usize, DocumentError> {
    if bytes.is_empty() {
        return Err(container(file, "the file is empty".to_owned()));
    }
    if !is_glb(bytes) {
        return Err(container(
            file,
            "it does not start with \"glTF\"".to_owned(),
        ));
    }
    if bytes.len() < HEADER_LEN_BYTES {
        return Err(container(file, "the header is cut off".to_owned()));
    }
    let version = read_u32(bytes, 4);
    if version != 2 {
        return Err(DocumentError::Version {
            file: file.to_owned(),
            version: version.to_string(),
        });
    }
    let declared = read_u32(bytes, 8) as usize;
    if declared > bytes.len() {
        return Err(DocumentError::Truncated {
            file: file.to_owned(),
            declared: declared as u64,
            actual: bytes.len() as u64,
        });
    }
    Ok(declared)
}

/// Joins JSON text and binary data into a GLB file.
pub fn join(json: &[u8], bin: &[u8]) -> Vec<u8> {
    let json_len = json.len().next_multiple_of(4);
    let bin_len = bin.len().next_multiple_of(4);
    let bin_chunk_len = if bin.is_empty() {
        0
    } else {
        CHUNK_HEADER_LEN_BYTES + bin_len
    };
    let total = HEADER_LEN_BYTES + CHUNK_HEADER_LEN_BYTES + json_len + bin_chunk_len;
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(MAGIC);
    push_u32(&mut out, 2);
    push_u32(&mut out, total as u32);
    push_u32(&mut out, json_len as u32);
    push_u32(&mut out, CHUNK_JSON);
    out.extend_from_slice(json);
    out.resize(HEADER_LEN_BYTES + CHUNK_HEADER_LEN_BYTES + json_len, b' ');
    if !bin.is_empty() {
        push_u32(&mut out, bin_len as u32);
        push_u32(&mut out, CHUNK_BIN);
        out.extend_from_slice(bin);
        out.resize(total, 0);
    }
    out
}

fn container(file: &str, what: String) -> DocumentError {
    DocumentError::Container {
        file: file.to_owned(),
        what,
    }
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let four = bytes[at..at + 4].try_into().expect("four bytes were taken");
    u32::from_le_bytes(four)
}

fn push_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_splits_again() {
        let file = join(b"{\"a\":1}", &[1, 2, 3]);
        assert_eq!(file.len() % 4, 0);
        let parts = split("a.glb", &Bytes::from(file)).unwrap();
        assert_eq!(&parts.json[..], b"{\"a\":1} ");
        assert_eq!(&parts.bin.unwrap()[..], &[1, 2, 3, 0]);
    }

    #[test]
    fn a_cut_file_says_both_lengths() {
        let mut file = join(b"{}", &[0; 5_000]);
        let declared = file.len();
        file.truncate(1_800);
        let error = split("chair.glb", &Bytes::from(file)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "chair.glb is truncated: the header says {} bytes, the file has 1,800",
                assetfs_formats::number_text::grouped(declared as u64)
            )
        );
    }

    #[test]
    fn an_overlong_chunk_is_refused() {
        let mut file = join(b"{}", &[0; 8]);
        file[12] = 0xff;
        assert!(split("a.glb", &Bytes::from(file)).is_err());
    }
}
