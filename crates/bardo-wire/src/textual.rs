//! Reasoning and tool calls that a model writes into its text: `<think>` tags, Hermes and Qwen tool calls.
