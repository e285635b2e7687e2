//! The tables cell by cell, who overrules whom, and what reaches each model.

mod applying;
mod case;
mod fallbacks;
mod matrix;
mod members;
mod models;
mod pairs;
mod properties;
mod sandbox;
mod tables;
mod wanting;
