//! The responses dialect.
