//! Bytes in the pieces in which they arrived. They are joined, which copies, only if a caller needs them in one
//! piece. Pure.

use bytes::{Bytes, BytesMut};

/// Pieces in a row.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pieces: Vec<Bytes>,
    len: usize,
}

impl Gathered {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn clear(&mut self) {
        *self = Gathered::default();
    }

    pub(super) fn push(&mut self, piece: Bytes) {
        self.len += piece.len();
        self.pieces.push(piece);
    }

    pub(super) fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// Removes the first bytes without a copy; there must be that many.
    pub(super) fn split_to(&mut self, len: usize) -> Gathered {
        let mut first = Gathered::default();
        let mut taken = 0;
        while first.len < len {
            let piece = &mut self.pieces[taken];
            let missing = len - first.len;
            if piece.len() <= missing {
                first.push(std::mem::take(piece));
                taken += 1;
            } else {
                first.push(piece.split_to(missing));
            }
        }
        self.pieces.drain(..taken);
        self.len -= len;
        first
    }

    /// All of it in one piece.
    pub(super) fn whole(self) -> Bytes {
        match <[Bytes; 1]>::try_from(self.pieces) {
            Ok([only]) => only,
            Err(pieces) => {
                let mut whole = BytesMut::with_capacity(self.len);
                pieces
                    .iter()
                    .for_each(|piece| whole.extend_from_slice(piece));
                whole.freeze()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_split_off_and_what_is_left_are_all_there_was() {
        let bytes: Vec<u8> = (0..=255).collect();
        for len in [0, 1, 9, 10, 11, 100, 255, 256] {
            let mut gathered = Gathered::default();
            for piece in bytes.chunks(10) {
                gathered.push(Bytes::copy_from_slice(piece));
            }
            let first = gathered.split_to(len);
            assert_eq!((first.len(), gathered.len()), (len, 256 - len));
            assert_eq!(first.whole(), &bytes[..len]);
            assert_eq!(gathered.whole(), &bytes[len..]);
        }
    }

    #[test]
    fn one_piece_is_not_copied() {
        let bytes = Bytes::from(vec![7; 100]);
        let mut gathered = Gathered::default();
        gathered.push(bytes.clone());
        assert_eq!(gathered.split_to(50).whole().as_ptr(), bytes.as_ptr());
    }
}
