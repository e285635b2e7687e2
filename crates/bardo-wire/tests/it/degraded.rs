//! Answers that are successes by their status alone.
