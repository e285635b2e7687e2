//! What the dialects share: names of tools, and shapes that several of them write alike.

pub(crate) mod custom_tools;
pub(crate) mod effort;
pub(crate) mod error_details;
pub(crate) mod error_path;
pub(crate) mod messages;
pub(crate) mod namespaces;
pub(crate) mod openai;
pub(crate) mod size;
pub(crate) mod steps;
pub(crate) mod text_or_list;
pub(crate) mod tool_names;
pub(crate) mod unknown_parts;
