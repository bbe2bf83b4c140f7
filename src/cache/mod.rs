//! Blocks of remote files on local disk, their index and their eviction. Fetches nothing.
