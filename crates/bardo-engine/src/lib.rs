//! bardo-engine
