//! Declares an enum together with one row of data for each variant, so that neither a row nor a field can be forgotten.

/// `pub enum Kind: Row { Variant { field: value } }` declares the enum with `ALL` (its variants in this order) and `row`.
macro_rules! rows {
    ($(#[$about:meta])* pub enum $kind:ident: $row:ident {
        $($(#[$meaning:meta])* $variant:ident { $($field:ident: $value:expr),* $(,)? })*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind {
            $($(#[$meaning])* $variant,)*
        }

        impl $kind {
            pub const ALL: &'static [$kind] = &[$($kind::$variant,)*];
            /// The names of all, in this order.
            pub const NAMES: &'static [&'static str] = &[$($kind::$variant.row().name,)*];

            pub const fn row(self) -> $row {
                match self {
                    $($kind::$variant => $row { $($field: $value,)* },)*
                }
            }

            pub const fn name(self) -> &'static str {
                self.row().name
            }
        }
    };
}
pub(crate) use rows;
