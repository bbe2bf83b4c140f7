//! The numbers of an accessor: the type of a component, the shape of an element, and the layout of both in memory.

/// How a component is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ComponentType {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl ComponentType {
    /// The type with this glTF number.
    pub fn from_code(code: usize) -> Option<ComponentType> {
        Some(match code {
            5120 => ComponentType::I8,
            5121 => ComponentType::U8,
            5122 => ComponentType::I16,
            5123 => ComponentType::U16,
            5125 => ComponentType::U32,
            5126 => ComponentType::F32,
            _ => return None,
        })
    }

    /// The glTF number of the type.
    pub fn code(self) -> u32 {
        match self {
            ComponentType::I8 => 5120,
            ComponentType::U8 => 5121,
            ComponentType::I16 => 5122,
            ComponentType::U16 => 5123,
            ComponentType::U32 => 5125,
            ComponentType::F32 => 5126,
        }
    }

    /// Bytes of one component.
    pub fn len_bytes(self) -> usize {
        match self {
            ComponentType::I8 | ComponentType::U8 => 1,
            ComponentType::I16 | ComponentType::U16 => 2,
            ComponentType::U32 | ComponentType::F32 => 4,
        }
    }

    pub(super) fn read(self, bytes: &[u8]) -> f64 {
        match self {
            ComponentType::I8 => f64::from(bytes[0] as i8),
            ComponentType::U8 => f64::from(bytes[0]),
            ComponentType::I16 => f64::from(i16::from_le_bytes([bytes[0], bytes[1]])),
            ComponentType::U16 => f64::from(u16::from_le_bytes([bytes[0], bytes[1]])),
            ComponentType::U32 => f64::from(u32_at(bytes)),
            ComponentType::F32 => f64::from(f32::from_bits(u32_at(bytes))),
        }
    }

    /// The value of a normalized integer.
    pub fn fraction(self, value: f64) -> f64 {
        match self {
            ComponentType::I8 => (value / 127.0).max(-1.0),
            ComponentType::U8 => value / 255.0,
            ComponentType::I16 => (value / 32_767.0).max(-1.0),
            ComponentType::U16 => value / 65_535.0,
            ComponentType::U32 | ComponentType::F32 => value,
        }
    }
}

fn u32_at(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// The shape of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementType {
    Scalar,
    Vec2,
    Vec3,
    Vec4,
    /// A 2×2 matrix by columns.
    Mat2,
    /// A 3×3 matrix by columns.
    Mat3,
    /// A 4×4 matrix by columns.
    Mat4,
}

impl ElementType {
    /// The shape with this glTF name.
    pub fn from_name(name: &str) -> Option<ElementType> {
        Some(match name {
            "SCALAR" => ElementType::Scalar,
            "VEC2" => ElementType::Vec2,
            "VEC3" => ElementType::Vec3,
            "VEC4" => ElementType::Vec4,
            "MAT2" => ElementType::Mat2,
            "MAT3" => ElementType::Mat3,
            "MAT4" => ElementType::Mat4,
            _ => return None,
        })
    }

    /// The glTF name of the shape.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::Scalar => "SCALAR",
            ElementType::Vec2 => "VEC2",
            ElementType::Vec3 => "VEC3",
            ElementType::Vec4 => "VEC4",
            ElementType::Mat2 => "MAT2",
            ElementType::Mat3 => "MAT3",
            ElementType::Mat4 => "MAT4",
        }
    }

    /// The vector with this number of components.
    pub fn vector(components: usize) -> ElementType {
        match components {
            1 => ElementType::Scalar,
            2 => ElementType::Vec2,
            3 => ElementType::Vec3,
            _ => ElementType::Vec4,
        }
    }

    /// Numbers in an element.
    pub fn components(self) -> usize {
        match self {
            ElementType::Scalar => 1,
            ElementType::Vec2 => 2,
            ElementType::Vec3 => 3,
            ElementType::Vec4 | ElementType::Mat2 => 4,
            ElementType::Mat3 => 9,
            ElementType::Mat4 => 16,
        }
    }

    /// Where each component starts in an element: matrix columns start at multiples of four bytes.
    pub(super) fn offsets(self, component_len_bytes: usize) -> Vec<usize> {
        let rows = match self {
            ElementType::Mat2 => 2,
            ElementType::Mat3 => 3,
            ElementType::Mat4 => 4,
            _ => self.components(),
        };
        let column_len = if rows == self.components() {
            rows * component_len_bytes
        } else {
            (rows * component_len_bytes).next_multiple_of(4)
        };
        (0..self.components())
            .map(|index| (index / rows) * column_len + (index % rows) * component_len_bytes)
            .collect()
    }

    /// Bytes of an element, padding between matrix columns included.
    pub fn len_bytes(self, component: ComponentType) -> usize {
        let component_len = component.len_bytes();
        let last = *self
            .offsets(component_len)
            .last()
            .expect("an element has components");
        match self {
            ElementType::Mat2 | ElementType::Mat3 => (last + component_len).next_multiple_of(4),
            _ => last + component_len,
        }
    }
}
