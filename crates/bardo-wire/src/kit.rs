//! What the dialects share: names of tools, and shapes that several of them write alike.

pub(crate) mod tool_names;
