//! Features and restrictions of services for the models that they serve (`data/services.toml`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bardo_types::feature::FeatureSet;
use bardo_types::model::Service;
use bardo_types::privacy::SecurityClass;
use serde::Deserialize;

/// When a service is chosen without being named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ServiceRole {
    /// For every request.
    General,
    /// For what has to be kept secret, or would better be.
    Privacy,
    /// For the same, where nobody else keeps it as well.
    Spare,
    /// For the parts of an agent that earn their keep.
    SelfFunding,
    /// For what only a maker's own API has.
    Direct,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceRow {
    pub(crate) role: ServiceRole,
    pub(crate) tie: u8,
    #[serde(default)]
    pub(crate) offers: FeatureSet,
    #[serde(default)]
    pub(crate) withholds: FeatureSet,
    #[serde(default)]
    pub(crate) security: SecurityClass,
    #[serde(default)]
    pub(crate) vetted: bool,
    #[serde(default)]
    pub(crate) staked: bool,
    #[serde(default)]
    pub(crate) own: bool,
    /// Prefix of the only models that are held to a schema.
    pub(crate) schema_only: Option<String>,
    /// The service gives one answer per request and ignores `n`.
    #[serde(default)]
    pub(crate) one_answer: bool,
}

/// The row of a service.
pub(crate) fn row(service: Service) -> &'static ServiceRow {
    static TABLE: LazyLock<[ServiceRow; 10]> = LazyLock::new(|| {
        let rows: BTreeMap<Service, ServiceRow> =
            crate::data::read(include_str!("../data/services.toml")).expect("the table is tested");
        Service::ALL.map(|service| rows[&service].clone())
    });
    &TABLE[service as usize]
}

#[cfg(test)]
mod tests {
    use bardo_types::feature::Feature;

    use super::*;

    #[test]
    fn every_service_has_its_row_and_finds_it() {
        for (index, service) in Service::ALL.into_iter().enumerate() {
            assert_eq!(service as usize, index);
            assert!(row(service).offers.minus(row(service).withholds) == row(service).offers);
        }
        assert!(row(Service::Venice).staked && row(Service::OpenRouter).vetted);
        assert_eq!(row(Service::Local).security, SecurityClass::Private);
        assert!(row(Service::Bankr).offers.has(Feature::SelfFunding));
    }

    #[test]
    fn roles_are_those_of_the_rulings() {
        assert_eq!(row(Service::OpenRouter).role, ServiceRole::General);
        assert_eq!(row(Service::Venice).role, ServiceRole::Privacy);
        assert_eq!(row(Service::Bankr).role, ServiceRole::SelfFunding);
        assert_eq!(row(Service::Google).role, ServiceRole::Direct);
    }

    #[test]
    fn ties_go_to_blockrun_openrouter_bankr_venice_and_direct_keys_in_this_order() {
        let order = [
            Service::BlockRun,
            Service::OpenRouter,
            Service::Bankr,
            Service::Venice,
            Service::OpenAi,
        ];
        assert!(order.map(|service| row(service).tie).is_sorted());
        assert_eq!(
            row(Service::Anthropic).tie,
            row(Service::Google).tie,
            "all direct keys alike"
        );
    }
}
