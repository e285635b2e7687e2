//! Orders of flushes as bytes, for other processes.

use bardo_types::ids::AccountId;

use super::bytes::{ByteReader, ByteWriter, Corrupt};
use crate::scope::{Namespace, Scope};
use crate::store::Flush;
use crate::tags::CacheTag;

const ALL: u8 = 0;
const TENANT: u8 = 1;
const NAMESPACE: u8 = 2;
const TAG: u8 = 3;
const MARKET: u8 = 4;
const MARKET_IN: u8 = 5;
const PLAYBOOK_IN: u8 = 6;

/// Writes a flush as bytes.
#[must_use]
pub fn write_flush(flush: &Flush) -> Vec<u8> {
    let mut out = ByteWriter::default();
    out.byte(match flush {
        Flush::All => ALL,
        Flush::Tenant(_) => TENANT,
        Flush::Namespace(..) => NAMESPACE,
        Flush::Tag(..) => TAG,
        Flush::Market(_) => MARKET,
        Flush::MarketIn(..) => MARKET_IN,
        Flush::PlaybookIn(..) => PLAYBOOK_IN,
    });
    out.option(flush.tenant(), |out, tenant| out.text(tenant.as_str()));
    match flush {
        Flush::All | Flush::Tenant(_) | Flush::Market(_) => {}
        Flush::Namespace(_, space) | Flush::MarketIn(_, space) => write_space(&mut out, space),
        Flush::PlaybookIn(_, space, digest) => {
            write_space(&mut out, space);
            out.text(digest);
        }
        Flush::Tag(_, tag) => {
            let (kind, name) = match tag {
                CacheTag::Domain(name) => (0, name),
                CacheTag::Token(name) => (1, name),
                CacheTag::Pool(name) => (2, name),
                CacheTag::Playbook(name) => (3, name),
            };
            out.byte(kind);
            out.text(name);
        }
    }
    out.0
}

/// Reads what [`write_flush`] wrote.
///
/// # Errors
/// On bytes that are no flush of this version.
pub fn read_flush(bytes: &[u8]) -> Result<Flush, Corrupt> {
    let mut from = ByteReader(bytes);
    let kind = from.byte()?;
    let tenant = match from.flag()? {
        true => Some(AccountId::parse(&from.text()?).map_err(|_| Corrupt)?),
        false => None,
    };
    let flush = match (kind, tenant) {
        (ALL, None) => Flush::All,
        (TENANT, Some(tenant)) => Flush::Tenant(tenant),
        (NAMESPACE, Some(tenant)) => Flush::Namespace(tenant, space(&mut from)?),
        (MARKET_IN, Some(tenant)) => Flush::MarketIn(tenant, space(&mut from)?),
        (PLAYBOOK_IN, Some(tenant)) => {
            let space = space(&mut from)?;
            Flush::PlaybookIn(tenant, space, from.text()?.into())
        }
        (MARKET, tenant) => Flush::Market(tenant),
        (TAG, tenant) => {
            let kind = from.byte()?;
            let name = from.text()?;
            let tag = match kind {
                0 => CacheTag::Domain(name.into()),
                1 => CacheTag::Token(name.into()),
                2 => CacheTag::Pool(name.into()),
                3 => CacheTag::Playbook(name.into()),
                _ => return Err(Corrupt),
            };
            Flush::Tag(tenant, tag)
        }
        _ => return Err(Corrupt),
    };
    match from.0.is_empty() {
        true => Ok(flush),
        false => Err(Corrupt),
    }
}

fn write_space(out: &mut ByteWriter, space: &Namespace) {
    out.text(space.scope().as_str());
    out.bytes(space.id());
}

fn space(from: &mut ByteReader<'_>) -> Result<Namespace, Corrupt> {
    let name = from.text()?;
    let known = [Scope::Agent, Scope::Clade, Scope::Tenant, Scope::Public];
    let scope = known
        .into_iter()
        .find(|scope| scope.as_str() == name.as_ref() as &str);
    let id = from.bytes()?.try_into().map_err(|_| Corrupt)?;
    Ok(Namespace::restored(scope.ok_or(Corrupt)?, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_is_read_as_it_was_written_and_no_part_of_it_is_taken_for_one() {
        let tenant = AccountId::parse("acct_1").unwrap();
        let space = Namespace::agent(&tenant, "golem");
        let tag = |make: fn(std::sync::Arc<str>) -> CacheTag| make("0xAbc".into());
        let all = [
            Flush::All,
            Flush::Tenant(tenant.clone()),
            Flush::Namespace(tenant.clone(), space),
            Flush::Tag(None, tag(CacheTag::Domain)),
            Flush::Tag(Some(tenant.clone()), tag(CacheTag::Token)),
            Flush::Tag(None, tag(CacheTag::Pool)),
            Flush::Tag(None, tag(CacheTag::Playbook)),
            Flush::Market(None),
            Flush::Market(Some(tenant.clone())),
            Flush::MarketIn(tenant.clone(), space),
            Flush::PlaybookIn(tenant, space, "0xAbc".into()),
        ];
        for flush in all {
            let bytes = write_flush(&flush);
            assert_eq!(read_flush(&bytes), Ok(flush.clone()));
            for end in 0..bytes.len() {
                assert!(read_flush(&bytes[..end]).is_err(), "{flush:?} {end}");
            }
            assert!(read_flush(&[bytes, vec![0]].concat()).is_err());
        }
    }
}
