mod documented;
mod routing;
mod sweep;

use bardo_config::{DEFAULTS, Layer, Layers, build, canonical, overrides, parse};

use super::*;

fn check(yaml: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
    let environment: Vec<(String, String)> = environment
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    let mut layers = Layers::default();
    layers.push(Layer::new("default", parse(DEFAULTS, "toml").unwrap()));
    let mut file = parse(yaml, "yaml").unwrap();
    canonical(&mut file)?;
    layers.push(Layer::new("test", file));
    layers.push(Layer::new("environment", overrides(&environment)));
    build(&layers, None, &environment, &of_parts).map_err(|error| error.0)
}
