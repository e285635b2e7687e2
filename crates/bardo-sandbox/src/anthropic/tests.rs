//! Whole requests.
