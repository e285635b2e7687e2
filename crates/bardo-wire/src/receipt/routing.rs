//! The part of a receipt that says why a request went where it went.

use bardo_types::Degradation;
use bardo_types::feature::Feature;
use bardo_types::intent::Quality;
use bardo_types::model::{Effort, Tier};
use bardo_types::phase::Phase;
use bardo_types::privacy::TeeEvidence;
use bardo_types::receipt::{Routing, SchemaOutcome, SentProfile};

use super::write::{Object, Value as _, inner};

pub(super) fn write(routing: &Routing, object: &mut Object<'_>) {
    object
        .member("subsystem", routing.subsystem.as_deref())
        .member("automatic", routing.automatic)
        .member("quality", routing.quality.map(Quality::as_str))
        .member("cost_sensitivity", routing.cost_sensitivity)
        .member("security_class", routing.security_class.as_str())
        .member("security", routing.security.as_str())
        .member("tee", routing.tee.map(TeeEvidence::as_str))
        .member("tier", routing.tier.map(Tier::as_str))
        .list("requested", routing.requested.iter().copied(), feature)
        .list("features", routing.features.iter(), feature)
        .list("degraded", routing.degraded.iter().copied(), feature)
        .member("estimated_cost", routing.estimated_cost)
        .list("warnings", &routing.warnings, |warning, out| {
            warning.as_str().write(out);
        })
        .member("owner_message", routing.owner_message.as_deref());
    match &routing.profile {
        Some(profile) => object.object("profile", |object| write_profile(profile, object)),
        None => object.member("profile", None::<u64>),
    };
    match &routing.schema {
        Some(schema) => object.object("schema", |object| write_schema(schema, object)),
        None => object.member("schema", None::<u64>),
    };
    object
        .member("golem_id", routing.golem_id.as_deref())
        .member("tick", routing.tick)
        .member("vitality", routing.vitality)
        .member("phase", routing.phase.map(Phase::as_str));
}

fn write_profile(profile: &SentProfile, object: &mut Object<'_>) {
    object
        .member("row", profile.row.as_deref())
        .member("temperature", profile.temperature)
        .member("reasoning_effort", profile.effort.map(Effort::as_str))
        .member("structured", profile.structured)
        .member("cached", profile.cached)
        .list("degraded", &profile.degraded, degradation);
}

fn degradation(lost: &Degradation, out: &mut Vec<u8>) {
    inner(out, |object| {
        object
            .member("feature", &*lost.feature)
            .member("detail", &*lost.detail);
    });
}

fn write_schema(schema: &SchemaOutcome, object: &mut Object<'_>) {
    object
        .member("name", &*schema.name)
        .member("mode", schema.mode)
        .member("valid", schema.valid)
        .member("repaired", schema.repaired);
}

fn feature(feature: Feature, out: &mut Vec<u8>) {
    feature.as_str().write(out);
}
