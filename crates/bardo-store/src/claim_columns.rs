//! Claims, wallets and deposits on chains as columns, alike in all stores that know SQL.

use bardo_ledger::StoreError;
use bardo_ledger::claims::{
    ChainDeposit, ChainDepositState, ClaimOrder, ClaimRecord, ClaimScheme, ClaimStage, ClaimView,
    OnChainSettlement, ServiceStage, SettlementTransaction, WalletId, WalletRecord,
};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;

/// The value of a column.
#[derive(Debug, Clone)]
pub(crate) enum ClaimCell {
    Text(Option<String>),
    Number(Option<i64>),
}

/// A row, by the names of its columns.
pub(crate) trait ClaimColumns {
    /// A text, or nothing.
    fn text(&self, column: &str) -> Result<Option<String>, StoreError>;
    /// A number, or nothing.
    fn number(&self, column: &str) -> Result<Option<i64>, StoreError>;
}

/// Cells of a row that is written.
pub(crate) type ClaimCells = Vec<(&'static str, ClaimCell)>;

fn text(value: impl ToString) -> ClaimCell {
    ClaimCell::Text(Some(value.to_string()))
}

/// A number as columns have it. What is larger is refused, not cut.
fn number(value: u64) -> Result<ClaimCell, StoreError> {
    maybe(Some(value))
}

fn maybe(value: Option<u64>) -> Result<ClaimCell, StoreError> {
    let value = value.map(i64::try_from).transpose();
    let range = |_| StoreError::Damaged("a number is out of range".to_owned());
    value.map(ClaimCell::Number).map_err(range)
}

/// A claim as cells, with the version and the number that it has.
pub(crate) fn claim_cells(claim: &ClaimRecord) -> Result<ClaimCells, StoreError> {
    let settlement = claim.settlement.as_ref();
    let paid = |part: fn(&OnChainSettlement) -> u64| maybe(settlement.map(part));
    let hash = settlement.map(|settlement| settlement.transaction.to_string());
    let amount = |amount: MicroUsd| number(amount.get());
    Ok(vec![
        ("key", text(claim.key)),
        ("wallet", text(claim.key.wallet())),
        ("no", number(claim.no)?),
        ("version", number(claim.version)?),
        ("request", text(&claim.request)),
        ("account", text(&claim.account)),
        ("body_hash", text(claim.body_hash)),
        ("quote", text(claim.quote.replace('\0', "\u{fffd}"))),
        ("scheme", text(claim.scheme.as_str())),
        ("first", text(claim.order.as_str())),
        ("ceiling", amount(claim.ceiling)?),
        ("deadline_s", number(claim.deadline_s)?),
        ("payload", text(hex(&claim.payload))),
        ("service", text(claim.service.as_str())),
        ("stage", text(claim.stage.as_str())),
        ("used", amount(claim.used)?),
        ("amount", amount(claim.amount)?),
        (
            "transactions",
            text(SettlementTransaction::encode_all(&claim.transactions)),
        ),
        ("settled_by", ClaimCell::Text(hash)),
        (
            "settled_amount",
            paid(|settlement| settlement.amount.get())?,
        ),
        ("settled_block", paid(|settlement| settlement.block)?),
        ("booked", maybe(claim.booked.map(MicroUsd::get))?),
        ("reason", clean(claim.reason.as_deref())),
        ("debt_end", clean(claim.debt_end.as_deref())),
        ("debt", amount(claim.debt())?),
        ("prunable", number(claim.is_prunable().into())?),
        ("claimed_at_ms", number(claim.claimed_at_ms)?),
        ("changed_at_ms", number(claim.changed_at_ms)?),
        ("stale_at_ms", number(claim.stale_at_ms)?),
        ("due_at_ms", maybe(claim.due_at_ms)?),
        (
            "lease_owner",
            text(claim.lease_owner.replace('\0', "\u{fffd}")),
        ),
        ("lease_no", number(claim.lease_no)?),
        ("lease_until_ms", number(claim.lease_until_ms)?),
    ])
}

/// A wallet as cells, with the version that it has.
pub(crate) fn wallet_cells(wallet: &WalletRecord) -> Result<ClaimCells, StoreError> {
    Ok(vec![
        ("wallet", text(wallet.wallet)),
        ("version", number(wallet.version)?),
        ("open_claims", number(wallet.open)?),
        ("exposure", number(wallet.exposure.get())?),
        ("debt", number(wallet.debt.get())?),
        ("settlements", number(wallet.settlements)?),
        ("settled", number(wallet.settled.get())?),
        ("booked", number(wallet.booked.get())?),
    ])
}

/// A deposit as cells, with the version that it has.
pub(crate) fn deposit_cells(deposit: &ChainDeposit) -> Result<ClaimCells, StoreError> {
    Ok(vec![
        ("log", text(deposit.log)),
        ("version", number(deposit.version)?),
        ("sender", text(deposit.from)),
        ("account", text(&deposit.account)),
        ("amount", number(deposit.amount.get())?),
        ("block", number(deposit.block)?),
        ("block_hash", text(deposit.block_hash)),
        ("state", text(deposit.state.as_str())),
        ("changed_at_ms", number(deposit.changed_at_ms)?),
    ])
}

fn clean(value: Option<&str>) -> ClaimCell {
    ClaimCell::Text(value.map(|value| value.replace('\0', "\u{fffd}")))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    let pairs = bytes.iter();
    pairs
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
            _ => None,
        })
        .collect()
}

/// Reads typed values out of a row.
struct ClaimReader<'a> {
    row: &'a dyn ClaimColumns,
    prefix: &'static str,
}

impl ClaimReader<'_> {
    fn damaged(&self, column: &str) -> StoreError {
        StoreError::Damaged(format!(
            "the column {}{column} is not readable",
            self.prefix
        ))
    }

    fn maybe_text(&self, column: &str) -> Result<Option<String>, StoreError> {
        self.row.text(&format!("{}{column}", self.prefix))
    }

    fn text(&self, column: &str) -> Result<String, StoreError> {
        let value = self.maybe_text(column)?;
        value.ok_or_else(|| self.damaged(column))
    }

    fn parsed<T: std::str::FromStr>(&self, column: &str) -> Result<T, StoreError> {
        let value = self.text(column)?;
        value.parse().map_err(|_| self.damaged(column))
    }

    fn read<T>(&self, column: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, StoreError> {
        let value = self.text(column)?;
        read(&value).ok_or_else(|| self.damaged(column))
    }

    fn maybe_number(&self, column: &str) -> Result<Option<u64>, StoreError> {
        let value = self.row.number(&format!("{}{column}", self.prefix))?;
        let value = value.map(u64::try_from).transpose();
        value.map_err(|_| self.damaged(column))
    }

    fn number(&self, column: &str) -> Result<u64, StoreError> {
        let value = self.maybe_number(column)?;
        value.ok_or_else(|| self.damaged(column))
    }

    fn amount(&self, column: &str) -> Result<MicroUsd, StoreError> {
        self.number(column).map(MicroUsd::new)
    }

    fn settlement(&self) -> Result<Option<OnChainSettlement>, StoreError> {
        let Some(hash) = self.maybe_text("settled_by")? else {
            return Ok(None);
        };
        Ok(Some(OnChainSettlement {
            transaction: hash.parse().map_err(|_| self.damaged("settled_by"))?,
            amount: self.amount("settled_amount")?,
            block: self.number("settled_block")?,
        }))
    }
}

/// The claim that a row stands for.
pub(crate) fn read_claim(row: &dyn ClaimColumns) -> Result<ClaimRecord, StoreError> {
    let row = ClaimReader { row, prefix: "" };
    Ok(ClaimRecord {
        no: row.number("no")?,
        version: row.number("version")?,
        key: row.parsed("key")?,
        request: row.read("request", |text| RequestId::parse(text).ok())?,
        account: row.read("account", |text| AccountId::parse(text).ok())?,
        body_hash: row.parsed("body_hash")?,
        quote: row.text("quote")?,
        scheme: row.read("scheme", ClaimScheme::named)?,
        order: row.read("first", ClaimOrder::named)?,
        ceiling: row.amount("ceiling")?,
        deadline_s: row.number("deadline_s")?,
        payload: row.read("payload", from_hex)?,
        service: row.read("service", ServiceStage::named)?,
        stage: row.read("stage", ClaimStage::named)?,
        used: row.amount("used")?,
        amount: row.amount("amount")?,
        transactions: row.read("transactions", SettlementTransaction::decode_all)?,
        settlement: row.settlement()?,
        booked: row.maybe_number("booked")?.map(MicroUsd::new),
        reason: row.maybe_text("reason")?,
        debt_end: row.maybe_text("debt_end")?,
        claimed_at_ms: row.number("claimed_at_ms")?,
        changed_at_ms: row.number("changed_at_ms")?,
        stale_at_ms: row.number("stale_at_ms")?,
        due_at_ms: row.maybe_number("due_at_ms")?,
        lease_owner: row.text("lease_owner")?,
        lease_no: row.number("lease_no")?,
        lease_until_ms: row.number("lease_until_ms")?,
    })
}

/// The wallet that a row stands for; `None` where the row has none. The names of its columns begin
/// with `prefix`.
pub(crate) fn read_wallet(
    row: &dyn ClaimColumns,
    prefix: &'static str,
) -> Result<Option<WalletRecord>, StoreError> {
    let row = ClaimReader { row, prefix };
    if row.maybe_text("wallet")?.is_none() {
        return Ok(None);
    }
    Ok(Some(WalletRecord {
        wallet: row.parsed("wallet")?,
        version: row.number("version")?,
        open: row.number("open_claims")?,
        exposure: row.amount("exposure")?,
        debt: row.amount("debt")?,
        settlements: row.number("settlements")?,
        settled: row.amount("settled")?,
        booked: row.amount("booked")?,
    }))
}

/// The deposit that a row stands for.
pub(crate) fn read_deposit(row: &dyn ClaimColumns) -> Result<ChainDeposit, StoreError> {
    let row = ClaimReader { row, prefix: "" };
    Ok(ChainDeposit {
        log: row.parsed("log")?,
        version: row.number("version")?,
        from: row.parsed("sender")?,
        account: row.read("account", |text| AccountId::parse(text).ok())?,
        amount: row.amount("amount")?,
        block: row.number("block")?,
        block_hash: row.parsed("block_hash")?,
        state: row.read("state", ChainDepositState::named)?,
        changed_at_ms: row.number("changed_at_ms")?,
    })
}

/// A claim beside its wallet: the wallet's columns begin with `w_`, and `key` is null where there
/// is no claim.
pub(crate) fn read_view(row: &dyn ClaimColumns, wallet: WalletId) -> Result<ClaimView, StoreError> {
    let found = read_wallet(row, "w_")?;
    let has_claim = row.text("key")?.is_some();
    Ok(ClaimView {
        wallet: found.unwrap_or_else(|| WalletRecord::new(wallet)),
        claim: has_claim.then(|| read_claim(row)).transpose()?,
    })
}
