//! The adapter between the drive and the kernel. Decides nothing.
