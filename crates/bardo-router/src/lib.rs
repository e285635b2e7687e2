//! bardo-router
