//! What other processes did to money and keys. They only ever put money in, change keys, and end
//! holds of unknown outcome.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bardo_ledger::{Charge, End, Settle};
use bardo_types::ids::{AccountId, RequestId};
use rusqlite::Connection;

use super::apply::RowMemory;
use super::loading;
use super::rows;
use super::shared::Shared;

/// Puts changes after `seen` into the books; answers the last one. When it is called within the
/// writer's transaction, nothing can come after what it read.
pub(super) fn read(
    connection: &Connection,
    shared: &Arc<Shared>,
    known: &mut RowMemory,
    seen: i64,
) -> rusqlite::Result<i64> {
    let mut select = connection.prepare_cached(
        "SELECT seq, kind, account, reference, at_ms FROM changes WHERE seq > ?1 ORDER BY seq",
    )?;
    let mut rows = select.query([seen])?;
    let mut last = seen;
    while let Some(row) = rows.next()? {
        let kind = row.get_ref(1)?.as_str()?;
        let account = row.get_ref(2)?.as_str_or_null()?;
        let account = account.and_then(|id| AccountId::parse(id).ok());
        let reference = row.get_ref(3)?.as_str_or_null()?;
        match (kind, account) {
            ("deposit", Some(account)) => {
                if let Some((deposited, spent)) = loading::account(connection, &account)? {
                    let mut core = shared.lock();
                    core.book.load_account(account, deposited, spent);
                }
            }
            ("settle", Some(account)) => {
                if let Some(request) = reference.and_then(|id| RequestId::parse(id).ok()) {
                    settle(connection, shared, known, account, request, row.get(4)?)?;
                }
            }
            // What is cached of a key is asked for again.
            _ => {
                shared.revision.fetch_add(1, Ordering::Release);
            }
        }
        last = row.get(0)?;
    }
    Ok(last)
}

/// A hold of unknown outcome was ended elsewhere: the row is gone and the charge is posted, so
/// only the books are behind.
fn settle(
    connection: &Connection,
    shared: &Arc<Shared>,
    known: &mut RowMemory,
    account: AccountId,
    request: RequestId,
    now_ms: u64,
) -> rusqlite::Result<()> {
    let no = rows::find_account_no(connection, account.as_str())?;
    let paid = match no {
        Some(no) => rows::find_charge(connection, no, request.as_str())?,
        None => None,
    };
    known.held.remove(&(account.clone(), request.clone()));
    let end = paid.map_or(End::Release, |paid| {
        End::Capture(Charge {
            // The books do not keep who was credited.
            provider: "".into(),
            provider_cost: paid.provider_cost,
            spread: paid.spread,
        })
    });
    let mut core = shared.lock();
    core.held.remove(&(account.clone(), request.clone()));
    core.book.settle(&Settle {
        account,
        request,
        end,
        record: None,
        now_ms,
    });
    Ok(())
}
