//! Answers that were paid for once, and the rules of when they may be served again.
