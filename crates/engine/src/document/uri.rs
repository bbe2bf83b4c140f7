//! References from a model to its files as a document writes them: data URIs and encoded names. Which file a name means is
//! decided by [`assetfs_formats::input_files`].

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;

/// Bytes and media type of a data URI, or `None` when the text is not one.
pub fn data_uri(uri: &str) -> Option<Result<(Vec<u8>, String), String>> {
    let rest = uri.strip_prefix("data:")?;
    let Some((head, body)) = rest.split_once(',') else {
        return Some(Err("is a data URI without data".to_owned()));
    };
    let media_type = head.split(';').next().unwrap_or_default().to_owned();
    if head.ends_with(";base64") {
        let lenient = GeneralPurpose::new(
            &alphabet::STANDARD,
            GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
        );
        return Some(match lenient.decode(body.trim().as_bytes()) {
            Ok(bytes) => Ok((bytes, media_type)),
            Err(error) => Err(format!("is a data URI with damaged base64 ({error})")),
        });
    }
    Some(Ok((percent_decode_str(body).collect(), media_type)))
}

/// A reference as the path that it stands for.
pub fn decoded(uri: &str) -> String {
    percent_decode_str(uri).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_uris_are_decoded() {
        let (bytes, kind) = data_uri("data:image/png;base64,AQID").unwrap().unwrap();
        assert_eq!(
            (bytes.as_slice(), kind.as_str()),
            (&[1u8, 2, 3][..], "image/png")
        );
        assert!(data_uri("data:image/png;base64,A*").unwrap().is_err());
        assert!(data_uri("file.png").is_none());
    }
}
