//! bardo-providers
