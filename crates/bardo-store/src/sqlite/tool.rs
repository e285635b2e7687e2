//! The store of a command: each call is one transaction. It puts money in, changes keys and ends
//! holds of unknown outcome; a server that runs meanwhile reads about it in `changes`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bardo_access::KeyRecord;
use bardo_ledger::{
    Balance, Deposit, End, HoldState, LedgerRefusal, Settle, Settled, SettledCost, StoreError,
};
use bardo_types::clock::Clock;
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::caps;
use super::error::{OpenError, store_error};
use super::inserts::{ChargeRow, Inserts};
use super::keys::{self, KeyWrite};
use super::queries;
use super::rows::{self, AuditRow, Change, Deposited};
use super::schema::open_writer;
use super::series::{self, SeriesStep};
use super::{Durability, Options, replay};

pub(super) struct SqliteTool {
    connection: Mutex<Connection>,
    path: PathBuf,
    durability: Durability,
    actor: String,
    clock: Arc<dyn Clock>,
    /// Rises with every change to a key by this tool.
    pub(super) revision: AtomicU64,
}

impl SqliteTool {
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let tool = Self {
            connection: Mutex::new(open_writer(path, options.tuning())?),
            path: path.to_owned(),
            durability: options.durability,
            actor: options.actor.clone(),
            clock: options.clock.clone(),
            revision: AtomicU64::new(1),
        };
        tool.replay()?;
        Ok(tool)
    }

    fn replay(&self) -> Result<bool, OpenError> {
        let mut connection = self.connection();
        replay::replay(&self.path, &mut connection, self.durability, false)
            .map(|journal| journal.is_some())
    }

    /// Carries over what a server left in the journal; answers whether none has it now.
    pub(super) fn catch_up(&self) -> Result<bool, StoreError> {
        self.replay().map_err(|error| match error {
            OpenError::Store { source, .. } => source,
            other => StoreError::Unavailable(other.to_string()),
        })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .expect("nothing panics while it holds the connection")
    }

    fn transact<T>(
        &self,
        body: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection();
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| store_error(&error))?;
        let answer = body(&transaction)?;
        transaction.commit().map_err(|error| store_error(&error))?;
        Ok(answer)
    }

    pub(super) fn deposit(
        &self,
        command: &Deposit,
    ) -> Result<Result<Balance, LedgerRefusal>, StoreError> {
        self.transact(|transaction| {
            self.deposit_within(transaction, command)
                .map_err(|error| store_error(&error))
        })
    }

    fn deposit_within(
        &self,
        transaction: &Transaction<'_>,
        command: &Deposit,
    ) -> rusqlite::Result<Result<Balance, LedgerRefusal>> {
        let account = rows::account_no(transaction, &command.account)?;
        match rows::deposit(transaction, account, command)? {
            Deposited::Overflow => return Ok(Err(LedgerRefusal::Overflow)),
            Deposited::Before => {}
            Deposited::Now => {
                rows::audit(transaction, &AuditRow::of_deposit(&self.actor, command))?;
                let change = Change {
                    at_ms: command.now_ms,
                    kind: "deposit",
                    account: Some(command.account.as_str()),
                    reference: Some(&command.reference),
                };
                rows::announce(transaction, &change)?;
            }
        }
        let balance = queries::balance(transaction, command.account.as_str())?;
        Ok(Ok(balance.unwrap_or_default()))
    }

    pub(super) fn key(
        &self,
        record: &KeyRecord,
        write: &keys::Write,
    ) -> Result<KeyWrite, StoreError> {
        let now_ms = self.clock.now_ms();
        let written = self.transact(|transaction| {
            let write = || {
                let written = keys::write(transaction, record, write, &self.actor, now_ms)?;
                if written == KeyWrite::Done {
                    let change = Change {
                        at_ms: now_ms,
                        kind: "keys",
                        account: Some(record.account.as_str()),
                        reference: Some(record.id.as_str()),
                    };
                    rows::announce(transaction, &change)?;
                }
                Ok(written)
            };
            write().map_err(|error| store_error(&error))
        })?;
        if written == KeyWrite::Done {
            self.revision.fetch_add(1, Ordering::Release);
        }
        Ok(written)
    }

    pub(super) fn prune(&self, before_ms: u64, limit: u64) -> Result<u64, StoreError> {
        self.transact(|transaction| {
            rows::prune(transaction, before_ms, limit).map_err(|error| store_error(&error))
        })
    }

    /// Writes a step of rolling receipts up; answers whether it was written.
    pub(super) fn roll_up(&self, step: &SeriesStep) -> Result<bool, StoreError> {
        self.transact(|transaction| {
            series::write(transaction, step).map_err(|error| store_error(&error))
        })
    }

    /// Ends a hold of unknown outcome. Any other hold belongs to the server that runs, and beyond
    /// the hold nothing is taken, because what is available is known to the server alone.
    pub(super) fn settle(&self, command: &Settle) -> Result<Settled, StoreError> {
        self.transact(|transaction| {
            let failing = |error: rusqlite::Error| store_error(&error);
            let (id, request) = (&command.account, command.request.as_str());
            let available = || -> Result<MicroUsd, StoreError> {
                let balance = queries::balance(transaction, id.as_str()).map_err(failing)?;
                Ok(balance.unwrap_or_default().available)
            };
            let account = rows::find_account_no(transaction, id.as_str()).map_err(failing)?;
            let Some(account) = account else {
                return Err(no_such_hold(command));
            };
            if let Some(paid) = rows::find_charge(transaction, account, request).map_err(failing)? {
                return Ok(settled(paid, available()?, true));
            }
            let hold = find_hold(transaction, account, request).map_err(failing)?;
            let paid = match (hold, &command.end) {
                (Some((_, HoldState::Unknown, _)), End::Unknown) => {
                    return Ok(settled(SettledCost::default(), available()?, true));
                }
                (Some((held, HoldState::Unknown, caps)), end) => {
                    let paid = match end {
                        End::Capture(charge) => charge.within(held),
                        End::Release | End::Unknown => SettledCost::default(),
                    };
                    self.reconcile(transaction, account, command, (held, paid), &caps)
                        .map_err(failing)?;
                    paid
                }
                _ => return Err(no_such_hold(command)),
            };
            Ok(settled(paid, available()?, false))
        })
    }

    fn reconcile(
        &self,
        transaction: &Transaction<'_>,
        account: i64,
        command: &Settle,
        (held, paid): (MicroUsd, SettledCost),
        caps: &HoldCaps,
    ) -> rusqlite::Result<()> {
        let request = command.request.as_str();
        rows::delete_hold(transaction, account, request)?;
        let signed = |amount: MicroUsd| i64::try_from(amount.get()).unwrap_or(i64::MAX);
        rows::add_to_account(transaction, account, signed(paid.charged()), -signed(held))?;
        if let End::Capture(charge) = &command.end {
            let row = ChargeRow {
                at_ms: command.now_ms,
                account,
                request,
                provider: &charge.provider,
                paid,
            };
            Inserts::new(transaction)?.charges(&[row])?;
        }
        if paid.charged() > MicroUsd::ZERO {
            let caps_of = caps::from_text(&command.account, caps.text.as_deref());
            for cap in caps_of.unwrap_or_default() {
                rows::add_to_cap(
                    transaction,
                    account,
                    &cap.scope,
                    cap.window,
                    cap.window.bounds(caps.created_at_ms).0,
                    paid.charged(),
                )?;
            }
        }
        if let Some(record) = &command.record {
            let balance = queries::balance(transaction, command.account.as_str())?;
            let figures = paid.final_figures(balance.map(|balance| balance.available));
            let record = record.with_final(&figures);
            Inserts::new(transaction)?.receipts(&[(account, &record)])?;
        }
        let row = AuditRow {
            at_ms: command.now_ms,
            actor: &self.actor,
            action: "reconcile",
            subject: request,
            detail: format!(
                "account {}, charged {} USD",
                command.account,
                paid.charged()
            ),
        };
        rows::audit(transaction, &row)?;
        let change = Change {
            at_ms: command.now_ms,
            kind: "settle",
            account: Some(command.account.as_str()),
            reference: Some(request),
        };
        rows::announce(transaction, &change)
    }

    pub(super) fn balance(&self, account: &AccountId) -> Result<Option<Balance>, StoreError> {
        queries::balance(&self.connection(), account.as_str()).map_err(|error| store_error(&error))
    }
}

/// The caps of a hold as its row has them.
struct HoldCaps {
    text: Option<String>,
    created_at_ms: u64,
}

fn find_hold(
    connection: &Connection,
    account: i64,
    request: &str,
) -> rusqlite::Result<Option<(MicroUsd, HoldState, HoldCaps)>> {
    connection
        .prepare_cached(
            "SELECT amount, state, caps, created_at_ms FROM holds \
             WHERE account = ?1 AND request = ?2",
        )?
        .query_row(params![account, request], |row| {
            let state = match row.get_ref(1)?.as_str()? {
                "unknown" => HoldState::Unknown,
                _ => HoldState::Open,
            };
            let caps = HoldCaps {
                text: row.get(2)?,
                created_at_ms: row.get(3)?,
            };
            Ok((MicroUsd::new(row.get(0)?), state, caps))
        })
        .optional()
}

fn settled(paid: SettledCost, available: MicroUsd, repeated: bool) -> Settled {
    Settled {
        charged: paid.charged(),
        shortfall: paid.shortfall,
        available,
        repeated,
    }
}

fn no_such_hold(command: &Settle) -> StoreError {
    StoreError::Unavailable(format!(
        "the request `{}` of `{}` has no hold with an unknown outcome; only the server can settle other holds",
        command.account, command.request
    ))
}
