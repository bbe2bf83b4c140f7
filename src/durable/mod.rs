//! What survives a power cut: atomic writes, the append log, the metadata store. Knows no words of the domain.
