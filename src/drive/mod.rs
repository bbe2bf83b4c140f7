//! The drive in our own types: inodes, names, listings and one file per operation. Knows nothing of FUSE.
