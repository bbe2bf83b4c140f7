//! The local service: a complete implementation of the API with a real engine behind it.
