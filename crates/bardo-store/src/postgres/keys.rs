//! The key store on Postgres.

use std::net::IpAddr;

use bardo_access::{
    Future, KeyError, KeyKind, KeyRecord, KeyStore, Network, Scopes, SpendCaps, Tier,
};
use bardo_ledger::StoreError;
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::{BasisPoints, MicroUsd};
use tokio_postgres::Row;

use super::PostgresStore;
use super::arguments::{Argument, clean, signed, text};
use super::rows::{damaged, get, number, one};

const INSERT: &str = "SELECT bardo.insert_key($1, $2, $3, $4, $5) AS revision";
const UPDATE: &str = "SELECT bardo.update_key($1, $2, $3, $4, $5) AS revision";
const FIND: &str = "SELECT * FROM bardo.keys WHERE id = $1";
const LIST: &str = "SELECT * FROM bardo.keys WHERE $1::text IS NULL OR account = $1 ORDER BY no";
const IS_EMPTY: &str = "SELECT NOT EXISTS (SELECT FROM bardo.keys) AS is_empty";

impl PostgresStore {
    /// Carries out a change, and hears of it at once. `None` where it was refused.
    async fn change(&self, sql: &'static str, record: &KeyRecord) -> Result<Option<()>, KeyError> {
        let rows = self.run(sql, arguments(record)).await.map_err(key_error)?;
        let revision: Option<i64> = one(&rows)
            .and_then(|row| get(row, "revision"))
            .map_err(key_error)?;
        Ok(revision.map(|revision| self.revision.observe(revision)))
    }
}

impl KeyStore for PostgresStore {
    fn find<'a>(&'a self, id: &'a KeyId) -> Future<'a, Result<Option<KeyRecord>, KeyError>> {
        Box::pin(async move {
            let found = self.all(FIND, vec![text(id.as_str())], record).await;
            found.map(|mut rows| rows.pop()).map_err(key_error)
        })
    }

    fn insert(&self, record: KeyRecord) -> Future<'_, Result<(), KeyError>> {
        Box::pin(async move {
            let kept = self.change(INSERT, &record).await?;
            kept.ok_or(KeyError::Exists(record.id))
        })
    }

    fn update(&self, record: KeyRecord) -> Future<'_, Result<(), KeyError>> {
        Box::pin(async move {
            let changed = self.change(UPDATE, &record).await?;
            changed.ok_or(KeyError::Unknown(record.id))
        })
    }

    fn list<'a>(
        &'a self,
        account: Option<&'a AccountId>,
    ) -> Future<'a, Result<Vec<KeyRecord>, KeyError>> {
        let account = Argument::Text(account.map(ToString::to_string));
        Box::pin(async move {
            self.all(LIST, vec![account], record)
                .await
                .map_err(key_error)
        })
    }

    fn revision(&self) -> u64 {
        self.revision.get()
    }

    fn is_empty(&self) -> Future<'_, Result<bool, KeyError>> {
        Box::pin(async move {
            let rows = self.run(IS_EMPTY, Vec::new()).await.map_err(key_error)?;
            one(&rows)
                .and_then(|row| get(row, "is_empty"))
                .map_err(key_error)
        })
    }
}

/// Whatever is wrong with the store, it says nothing about a key.
fn key_error(error: StoreError) -> KeyError {
    match error {
        StoreError::Unavailable(why) => KeyError::Unavailable(why),
        StoreError::Damaged(why) => KeyError::Unavailable(format!("it is damaged: {why}")),
    }
}

fn arguments(record: &KeyRecord) -> Vec<Argument> {
    let KeyRecord {
        id,
        account,
        kind,
        name,
        hash,
        scopes,
        tier,
        spread,
        created_at_ms,
        expires_at_ms,
        revoked_at_ms,
        replaces,
    } = record;
    let money = |amount: Option<MicroUsd>| amount.map(MicroUsd::get);
    let numbers = [
        scopes.requests_per_minute.map(u64::from),
        scopes.tokens_per_minute,
        money(scopes.spend.session),
        money(scopes.spend.day),
        money(scopes.spend.month),
        money(scopes.spend.total),
        spread.map(|spread| spread.get().into()),
        Some(*created_at_ms),
        *expires_at_ms,
        *revoked_at_ms,
    ];
    let list = |names: Vec<String>| {
        Argument::Texts(Some(names.iter().map(|name| Some(clean(name))).collect()))
    };
    vec![
        Argument::Texts(Some(vec![
            Some(id.to_string()),
            Some(account.to_string()),
            Some(kind_name(*kind).to_owned()),
            Some(clean(name)),
            Some(clean(hash)),
            tier.map(|tier| tier_name(tier).to_owned()),
            replaces.as_ref().map(ToString::to_string),
        ])),
        Argument::Numbers(Some(numbers.map(|number| number.map(signed)).into())),
        list(scopes.models.clone()),
        list(scopes.backends.clone()),
        list(scopes.networks.iter().map(network_name).collect()),
    ]
}

fn record(row: &Row) -> Result<KeyRecord, StoreError> {
    let optional = |column: &str| -> Result<Option<u64>, StoreError> {
        let number: Option<i64> = get(row, column)?;
        Ok(number.and_then(|number| u64::try_from(number).ok()))
    };
    let money = |column: &str| optional(column).map(|number| number.map(MicroUsd::new));
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let named = |name: Option<&str>| name.map(KeyId::parse).transpose();
    let networks: Vec<&str> = get(row, "networks")?;
    Ok(KeyRecord {
        id: KeyId::parse(get(row, "id")?).map_err(|error| damaged(&error))?,
        account: AccountId::parse(get(row, "account")?).map_err(|error| damaged(&error))?,
        kind: match get(row, "kind")? {
            "spend" => KeyKind::Spend,
            _ => KeyKind::ReadOnly,
        },
        name: get(row, "name")?,
        hash: get(row, "hash")?,
        scopes: Scopes {
            models: get(row, "models")?,
            backends: get(row, "backends")?,
            // Left out, a network that cannot be read would widen what the key may do.
            networks: networks
                .into_iter()
                .map(|name| network(name).ok_or_else(|| damaged(&format!("the network {name}"))))
                .collect::<Result<_, _>>()?,
            requests_per_minute: optional("requests_per_minute")?.map(small),
            tokens_per_minute: optional("tokens_per_minute")?,
            spend: SpendCaps {
                session: money("session_cap")?,
                day: money("day_cap")?,
                month: money("month_cap")?,
                total: money("total_cap")?,
            },
        },
        tier: match get::<Option<&str>>(row, "tier")? {
            None => None,
            Some(name) => Some(tier(name).ok_or_else(|| damaged(&format!("the tier {name}")))?),
        },
        spread: optional("spread")?.and_then(|points| BasisPoints::new(small(points))),
        created_at_ms: number(row, "created_at_ms")?,
        expires_at_ms: optional("expires_at_ms")?,
        revoked_at_ms: optional("revoked_at_ms")?,
        replaces: named(get(row, "replaces")?).map_err(|error| damaged(&error))?,
    })
}

const fn kind_name(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Spend => "spend",
        KeyKind::ReadOnly => "read_only",
    }
}

const fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Free => "free",
        Tier::Pro => "pro",
        Tier::Golem => "golem",
    }
}

fn tier(name: &str) -> Option<Tier> {
    [Tier::Free, Tier::Pro, Tier::Golem]
        .into_iter()
        .find(|tier| tier_name(*tier) == name)
}

fn network_name(network: &Network) -> String {
    format!("{}/{}", network.address, network.bits)
}

fn network(name: &str) -> Option<Network> {
    let (address, bits) = name.split_once('/')?;
    Some(Network {
        address: address.parse::<IpAddr>().ok()?,
        bits: bits.parse().ok()?,
    })
}
