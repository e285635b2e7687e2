//! bardo-types
