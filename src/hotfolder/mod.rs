//! The local folder that feeds the drive.
