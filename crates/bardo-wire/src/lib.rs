//! bardo-wire
