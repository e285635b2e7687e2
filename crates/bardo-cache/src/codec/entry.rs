//! A whole entry as bytes, for second levels.

use bardo_types::Degradation;
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;

use super::bytes::{ByteReader, ByteWriter, Corrupt};
use super::event::{read_events, read_usage, write_usage};
use crate::entry::CachedAnswer;
use crate::key::{self, Key};
use crate::scope::{Namespace, Scope};
use crate::tags::Tags;
use crate::ttl::AnswerKind;

/// Version of the layout below. Raised with every change of it or of an event.
const LAYOUT: u16 = 1;

/// Losses of one entry at most.
const LOSSES_MAX: usize = 1_024;

/// The entry as bytes, not encrypted.
#[must_use]
pub fn write_entry(entry: &CachedAnswer) -> Vec<u8> {
    let CachedAnswer {
        key,
        namespace,
        tenant,
        model,
        provider,
        usage,
        cost,
        class,
        kind,
        tags,
        degraded,
        created_ms,
        ttl_ms,
        answer,
    } = entry;
    let mut out = ByteWriter(Vec::with_capacity(256 + answer.len()));
    out.0.extend_from_slice(&LAYOUT.to_le_bytes());
    out.0.extend_from_slice(&key::VERSION.to_le_bytes());
    out.0.extend_from_slice(key.as_bytes());
    out.byte(namespace.scope() as u8);
    out.0.extend_from_slice(namespace.id());
    for text in [tenant.as_str(), model, provider] {
        out.text(text);
    }
    write_usage(&mut out, usage);
    out.number(cost.get());
    out.byte(*class as u8);
    out.byte(*kind as u8);
    write_tags(&mut out, tags);
    out.number(degraded.len() as u64);
    for lost in degraded {
        out.text(&lost.feature);
        out.text(&lost.detail);
    }
    out.number(*created_ms);
    out.number(*ttl_ms);
    out.bytes(answer);
    out.0
}

/// Reads an entry that [`write_entry`] wrote, with the same versions of layout and key. The events
/// are read too, so that a hit cannot fail later.
///
/// # Errors
/// When the bytes are anything else.
pub fn read_entry(bytes: &[u8]) -> Result<CachedAnswer, Corrupt> {
    let mut input = ByteReader(bytes);
    let versions = [
        u16::from_le_bytes(input.array()?),
        u16::from_le_bytes(input.array()?),
    ];
    if versions != [LAYOUT, key::VERSION] {
        return Err(Corrupt);
    }
    let key = Key::from_bytes(input.array()?);
    let scope = usize::from(input.byte()?);
    let scope = *Scope::ALL.get(scope).ok_or(Corrupt)?;
    let namespace = Namespace::restored(scope, input.array()?);
    let tenant = AccountId::parse(input.str()?).map_err(|_| Corrupt)?;
    let entry = CachedAnswer {
        key,
        namespace,
        tenant,
        model: input.shared()?,
        provider: input.shared()?,
        usage: read_usage(&mut input)?,
        cost: read_money(&mut input)?,
        class: *SecurityClass::ALL
            .get(usize::from(input.byte()?))
            .ok_or(Corrupt)?,
        kind: match input.byte()? {
            0 => AnswerKind::Static,
            1 => AnswerKind::Market,
            _ => return Err(Corrupt),
        },
        tags: read_tags(&mut input)?,
        degraded: input.list(LOSSES_MAX, read_loss)?,
        created_ms: input.number()?,
        ttl_ms: input.number()?,
        answer: input.bytes()?.into(),
    };
    if !input.0.is_empty() {
        return Err(Corrupt);
    }
    read_events(&entry.answer)?;
    Ok(entry)
}

pub(super) fn read_money(input: &mut ByteReader<'_>) -> Result<MicroUsd, Corrupt> {
    let amount = MicroUsd::new(input.number()?);
    if amount > MicroUsd::MAX {
        return Err(Corrupt);
    }
    Ok(amount)
}

fn read_loss(input: &mut ByteReader<'_>) -> Result<Degradation, Corrupt> {
    Ok(Degradation {
        feature: input.text()?.into(),
        detail: input.text()?.into(),
    })
}

fn write_tags(out: &mut ByteWriter, tags: &Tags) {
    let Tags {
        domain,
        tokens,
        pools,
        playbook,
    } = tags;
    out.option(domain.as_deref(), ByteWriter::text);
    for list in [tokens, pools] {
        out.number(list.len() as u64);
        list.iter().for_each(|name| out.text(name));
    }
    out.option(playbook.as_deref(), ByteWriter::text);
}

fn read_tags(input: &mut ByteReader<'_>) -> Result<Tags, Corrupt> {
    Ok(Tags {
        domain: input.option(ByteReader::shared)?,
        tokens: input.list(Tags::MOST, ByteReader::shared)?.into(),
        pools: input.list(Tags::MOST, ByteReader::shared)?.into(),
        playbook: input.option(ByteReader::shared)?,
    })
}
