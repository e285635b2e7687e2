//! The part of a receipt that says why a request went where it went.

use bardo_types::Degradation;
use bardo_types::feature::Feature;
use bardo_types::intent::Quality;
use bardo_types::model::{Effort, Tier};
use bardo_types::phase::Phase;
use bardo_types::privacy::TeeEvidence;
use bardo_types::receipt::{Routing, SchemaOutcome, SentProfile};

use super::Figure;
use crate::json::{Object, ToJson, object as inner};

pub(super) fn write(routing: &Routing, object: &mut Object<'_>) {
    object
        .set("subsystem", routing.subsystem.as_deref())
        .set("automatic", routing.automatic)
        .set("quality", routing.quality.map(Quality::as_str))
        .set("cost_sensitivity", routing.cost_sensitivity.map(Figure))
        .set("security_class", routing.security_class.as_str())
        .set("security", routing.security.as_str())
        .set("tee", routing.tee.map(TeeEvidence::as_str))
        .set("tier", routing.tier.map(Tier::as_str))
        .list("requested", routing.requested.iter().copied(), feature)
        .list("features", routing.features.iter(), feature)
        .list("degraded", routing.degraded.iter().copied(), feature)
        .set("estimated_cost", routing.estimated_cost)
        .list("warnings", &routing.warnings, |warning, out| {
            warning.as_str().write(out);
        })
        .set("owner_message", routing.owner_message.as_deref());
    match &routing.profile {
        Some(profile) => object.nest("profile", |object| write_profile(profile, object)),
        None => object.set("profile", None::<u64>),
    };
    match &routing.schema {
        Some(schema) => object.nest("schema", |object| write_schema(schema, object)),
        None => object.set("schema", None::<u64>),
    };
    object
        .set("golem_id", routing.golem_id.as_deref())
        .set("tick", routing.tick)
        .set("vitality", routing.vitality.map(Figure))
        .set("phase", routing.phase.map(Phase::as_str))
        .set("sustainability", routing.sustainability.map(Figure));
}

fn write_profile(profile: &SentProfile, object: &mut Object<'_>) {
    object
        .set("row", profile.row.as_deref())
        .set("temperature", profile.temperature.map(Figure))
        .set("reasoning_effort", profile.effort.map(Effort::as_str))
        .set("structured", profile.structured)
        .set("cached", profile.cached)
        .list("degraded", &profile.degraded, degradation);
}

fn degradation(lost: &Degradation, out: &mut Vec<u8>) {
    inner(out, |object| {
        object
            .set("feature", &*lost.feature)
            .set("detail", &*lost.detail);
    });
}

fn write_schema(schema: &SchemaOutcome, object: &mut Object<'_>) {
    object
        .set("name", &*schema.name)
        .set("mode", schema.mode)
        .set("valid", schema.valid)
        .set("repaired", schema.repaired);
}

fn feature(feature: Feature, out: &mut Vec<u8>) {
    feature.as_str().write(out);
}
