pub(crate) mod floor {
    use anyhow::Result;
    #[derive(clap::Args)]
    pub(crate) struct Args {}
    pub(crate) fn run(_a: &Args) -> Result<bool> {
        Ok(true)
    }
}
pub(crate) mod upstream {
    use anyhow::Result;
    #[derive(clap::Args)]
    pub(crate) struct Args {}
    pub(crate) fn run(_a: &Args) -> Result<bool> {
        Ok(true)
    }
}
#[derive(clap::Args)]
pub(crate) struct Args {}
pub(crate) fn run(_a: &Args) -> anyhow::Result<bool> {
    Ok(true)
}
