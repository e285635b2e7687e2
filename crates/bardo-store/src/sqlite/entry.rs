//! What the journal keeps: the steps of the books, and each as bytes.

use std::sync::Arc;

use bardo_ledger::{
    CapScope, CapWindow, FinalFigures, HoldState, HoldView, PromptCacheFigures, ReceiptRecord,
    SettledCost,
};
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::{MicroUsd, SignedMicroUsd};

use super::shared::HoldKey;

/// A step that was decided in the books.
#[derive(Debug)]
pub(super) enum JournalEntry {
    /// A hold ended, or is left as one of unknown outcome.
    Ending(Box<Ending>),
    /// A hold was made, or is another than it was.
    Hold(JournalHold),
    /// A hold ended for which nobody was charged.
    Gone(HoldKey),
}

/// How a hold ended.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) account: AccountId,
    pub(super) request: RequestId,
    pub(super) now_ms: u64,
    pub(super) provider: Arc<str>,
    /// Nothing of it: there is no transfer.
    pub(super) paid: SettledCost,
    /// The counters in which it was spent.
    pub(super) counters: Vec<(CapScope, CapWindow, u64)>,
    /// The hold that stays, because nobody knows.
    pub(super) unknown: Option<JournalHold>,
    pub(super) record: Option<ReceiptRecord>,
    /// The result of settling, which the receipt gets when its row is written; `None` where the
    /// receipt says all.
    pub(super) figures: Option<FinalFigures>,
}

/// A hold, and its caps as [`super::caps`] writes them.
#[derive(Debug, Clone)]
pub(super) struct JournalHold {
    pub(super) view: HoldView,
    pub(super) caps: Option<String>,
}

impl JournalHold {
    pub(super) fn key(&self) -> HoldKey {
        (self.view.account.clone(), self.view.request.clone())
    }
}

const ENDING: u8 = 1;
const HOLD: u8 = 2;
const GONE: u8 = 3;

/// The end has no receipt.
const NO_RECORD: u8 = 0;
/// A receipt of the first version, without the members that [`put_second_record`] writes last.
const FIRST_RECORD: u8 = 1;
/// A receipt of the second version, without the figures of the prompt cache.
const SECOND_RECORD: u8 = 2;
/// A receipt of the third version, which says what settling came to.
const THIRD_RECORD: u8 = 3;
/// A receipt with all members, and the figures that it gets when its row is written.
const RECORD: u8 = 4;

impl JournalEntry {
    /// Puts the result of settling into the receipt.
    pub(super) fn complete(&mut self) {
        let Self::Ending(ending) = self else {
            return;
        };
        if let (Some(figures), Some(record)) = (ending.figures.take(), &mut ending.record) {
            record.put_final(&figures);
        }
    }

    /// Appends it as bytes.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ending(ending) => {
                out.push(ENDING);
                ending.encode(out);
            }
            Self::Hold(held) => {
                out.push(HOLD);
                held.encode(out);
            }
            Self::Gone((account, request)) => {
                out.push(GONE);
                put_text(out, account.as_str());
                put_text(out, request.as_str());
            }
        }
    }

    /// Reads one from the beginning of `bytes`, which then begin after it; `None` where they are
    /// none of ours.
    pub(super) fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let mut from = Bytes(bytes);
        let entry = match from.byte()? {
            ENDING => Self::Ending(Box::new(Ending::decode(&mut from)?)),
            HOLD => Self::Hold(JournalHold::decode(&mut from)?),
            GONE => Self::Gone((from.account()?, from.request()?)),
            _ => return None,
        };
        *bytes = from.0;
        Some(entry)
    }
}

impl Ending {
    fn encode(&self, out: &mut Vec<u8>) {
        put_text(out, self.account.as_str());
        put_text(out, self.request.as_str());
        put_number(out, self.now_ms);
        put_text(out, &self.provider);
        for amount in [
            self.paid.provider_cost,
            self.paid.spread,
            self.paid.shortfall,
        ] {
            put_number(out, amount.get());
        }
        put_number(out, self.counters.len() as u64);
        for (scope, window, start) in &self.counters {
            put_scope(out, scope);
            out.push(window_code(*window));
            put_number(out, *start);
        }
        out.push(u8::from(self.unknown.is_some()));
        if let Some(held) = &self.unknown {
            held.encode(out);
        }
        match &self.record {
            None => out.push(NO_RECORD),
            Some(record) => {
                out.push(RECORD);
                put_third_record(out, record);
                put_figures(out, self.figures.as_ref());
            }
        }
    }

    fn decode(from: &mut Bytes<'_>) -> Option<Self> {
        let (account, request) = (from.account()?, from.request()?);
        let now_ms = from.number()?;
        let provider = from.text()?.into();
        let paid = SettledCost {
            provider_cost: from.amount()?,
            spread: from.amount()?,
            shortfall: from.amount()?,
        };
        let counters = (0..from.number()?)
            .map(|_| Some((from.scope()?, from.window()?, from.number()?)))
            .collect::<Option<_>>()?;
        let unknown = match from.byte()? {
            0 => None,
            _ => Some(JournalHold::decode(from)?),
        };
        let version = from.byte()?;
        let record = match version {
            NO_RECORD => None,
            FIRST_RECORD => Some(from.first_record()?),
            SECOND_RECORD => Some(from.second_record()?),
            THIRD_RECORD | RECORD => Some(from.third_record()?),
            _ => return None,
        };
        let figures = match version {
            RECORD => from.figures()?,
            _ => None,
        };
        Some(Self {
            account,
            request,
            now_ms,
            provider,
            paid,
            counters,
            unknown,
            record,
            figures,
        })
    }
}

impl JournalHold {
    fn encode(&self, out: &mut Vec<u8>) {
        let HoldView {
            request,
            account,
            amount,
            state,
            created_at_ms,
            expires_at_ms,
        } = &self.view;
        put_text(out, account.as_str());
        put_text(out, request.as_str());
        put_number(out, amount.get());
        out.push(u8::from(*state == HoldState::Unknown));
        put_number(out, *created_at_ms);
        put_number(out, *expires_at_ms);
        put_optional(out, self.caps.as_deref());
    }

    fn decode(from: &mut Bytes<'_>) -> Option<Self> {
        let view = HoldView {
            account: from.account()?,
            request: from.request()?,
            amount: from.amount()?,
            state: match from.byte()? {
                0 => HoldState::Open,
                _ => HoldState::Unknown,
            },
            created_at_ms: from.number()?,
            expires_at_ms: from.number()?,
        };
        let caps = from.optional()?.map(str::to_owned);
        Some(Self { view, caps })
    }
}

fn put_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    let length = u32::try_from(text.len()).expect("no text of a receipt has four gigabytes");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn put_optional(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put_text(out, text);
    }
}

fn put_scope(out: &mut Vec<u8>, scope: &CapScope) {
    match scope {
        CapScope::Key(key) => {
            out.push(0);
            put_text(out, key.as_str());
        }
        CapScope::Account(account) => {
            out.push(1);
            put_text(out, account.as_str());
        }
        CapScope::Session(account, session) => {
            out.push(2);
            put_text(out, account.as_str());
            put_text(out, session);
        }
        CapScope::Subsystem(key, name) => {
            out.push(3);
            put_text(out, key.as_str());
            put_text(out, name);
        }
        CapScope::Delegation(name) => {
            out.push(4);
            put_text(out, name.as_str());
        }
    }
}

const fn window_code(window: CapWindow) -> u8 {
    match window {
        CapWindow::Day => 0,
        CapWindow::Month => 1,
        CapWindow::Total => 2,
    }
}

fn put_figures(out: &mut Vec<u8>, figures: Option<&FinalFigures>) {
    out.push(u8::from(figures.is_some()));
    let Some(figures) = figures else {
        return;
    };
    for amount in [figures.spread, figures.charge, figures.shortfall] {
        put_number(out, amount.get());
    }
    out.push(u8::from(figures.balance.is_some()));
    put_number(out, figures.balance.unwrap_or_default().get());
}

fn put_third_record(out: &mut Vec<u8>, record: &ReceiptRecord) {
    put_second_record(out, record);
    let cached = &record.prompt_cache;
    put_number(out, cached.read_tokens);
    put_number(out, cached.written_tokens);
    put_number(out, cached.saved.get().cast_unsigned());
}

fn put_second_record(out: &mut Vec<u8>, record: &ReceiptRecord) {
    put_first_record(out, record);
    put_optional(out, record.subsystem.as_deref());
    put_optional(out, record.session.as_deref());
    out.push(u8::from(record.provider_cost.is_some()));
}

fn put_first_record(out: &mut Vec<u8>, record: &ReceiptRecord) {
    put_text(out, record.request.as_str());
    put_optional(out, record.client_request_id.as_deref());
    put_text(out, record.account.as_str());
    put_optional(out, record.key.as_ref().map(KeyId::as_str));
    put_number(out, record.at_ms);
    put_text(out, &record.model);
    put_text(out, &record.provider);
    put_text(out, record.outcome);
    for number in [
        record.input_tokens,
        record.output_tokens,
        record.provider_cost.unwrap_or_default().get(),
        record.charge.get(),
        record.savings.get(),
    ] {
        put_number(out, number);
    }
    put_text(out, record.json.as_kept());
}

/// The bytes that are still to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn amount(&mut self) -> Option<MicroUsd> {
        self.number().map(MicroUsd::new)
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
        std::str::from_utf8(self.take(usize::try_from(length).ok()?)?).ok()
    }

    fn optional(&mut self) -> Option<Option<&'a str>> {
        match self.byte()? {
            0 => Some(None),
            _ => self.text().map(Some),
        }
    }

    fn account(&mut self) -> Option<AccountId> {
        AccountId::parse(self.text()?).ok()
    }

    fn request(&mut self) -> Option<RequestId> {
        RequestId::parse(self.text()?).ok()
    }

    fn scope(&mut self) -> Option<CapScope> {
        Some(match self.byte()? {
            0 => CapScope::Key(KeyId::parse(self.text()?).ok()?),
            1 => CapScope::Account(self.account()?),
            2 => CapScope::Session(self.account()?, self.text()?.into()),
            3 => CapScope::Subsystem(KeyId::parse(self.text()?).ok()?, self.text()?.into()),
            4 => CapScope::Delegation(KeyId::parse(self.text()?).ok()?),
            _ => return None,
        })
    }

    fn window(&mut self) -> Option<CapWindow> {
        let code = self.byte()?;
        [CapWindow::Day, CapWindow::Month, CapWindow::Total]
            .into_iter()
            .find(|window| window_code(*window) == code)
    }

    fn figures(&mut self) -> Option<Option<FinalFigures>> {
        if self.byte()? == 0 {
            return Some(None);
        }
        let (spread, charge, shortfall) = (self.amount()?, self.amount()?, self.amount()?);
        let has_balance = self.byte()? != 0;
        let balance = self.amount()?;
        Some(Some(FinalFigures {
            spread,
            charge,
            shortfall,
            balance: has_balance.then_some(balance),
        }))
    }

    fn third_record(&mut self) -> Option<ReceiptRecord> {
        let mut record = self.second_record()?;
        record.prompt_cache = PromptCacheFigures {
            read_tokens: self.number()?,
            written_tokens: self.number()?,
            saved: SignedMicroUsd::new(self.number()?.cast_signed()),
        };
        Some(record)
    }

    fn second_record(&mut self) -> Option<ReceiptRecord> {
        let mut record = self.first_record()?;
        record.subsystem = self.optional()?.map(Arc::from);
        record.session = self.optional()?.map(Arc::from);
        if self.byte()? == 0 {
            record.provider_cost = None;
        }
        Some(record)
    }

    fn first_record(&mut self) -> Option<ReceiptRecord> {
        Some(ReceiptRecord {
            request: self.request()?,
            client_request_id: self.optional()?.map(Arc::from),
            account: self.account()?,
            key: match self.optional()? {
                None => None,
                Some(id) => Some(KeyId::parse(id).ok()?),
            },
            at_ms: self.number()?,
            model: self.text()?.into(),
            provider: self.text()?.into(),
            outcome: ReceiptRecord::outcome_named(self.text()?),
            input_tokens: self.number()?,
            output_tokens: self.number()?,
            provider_cost: Some(self.amount()?),
            charge: self.amount()?,
            savings: self.amount()?,
            subsystem: None,
            session: None,
            prompt_cache: PromptCacheFigures::default(),
            json: self.text()?.into(),
            details: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rig::{account, micro, record, request};
    use super::*;

    fn held() -> JournalHold {
        JournalHold {
            view: HoldView {
                request: request(7),
                account: account("a"),
                amount: micro(55),
                state: HoldState::Unknown,
                created_at_ms: 3,
                expires_at_ms: u64::MAX,
            },
            caps: Some("[\"é\"]".to_owned()),
        }
    }

    fn entries() -> Vec<JournalEntry> {
        let figures = |balance| FinalFigures {
            spread: micro(4),
            charge: micro(24),
            shortfall: micro(1),
            balance,
        };
        let ending = |unknown, record, figures| {
            JournalEntry::Ending(Box::new(Ending {
                account: account("a"),
                request: request(1),
                now_ms: 9,
                provider: "sim".into(),
                paid: SettledCost {
                    provider_cost: micro(20),
                    spread: micro(4),
                    shortfall: micro(1),
                },
                counters: vec![
                    (
                        CapScope::Key(KeyId::parse("k").unwrap()),
                        CapWindow::Day,
                        86_400_000,
                    ),
                    (CapScope::Account(account("a")), CapWindow::Month, 1),
                    (
                        CapScope::Session(account("a"), "a session".into()),
                        CapWindow::Total,
                        0,
                    ),
                    (
                        CapScope::Subsystem(KeyId::parse("k").unwrap(), "dream_rem".into()),
                        CapWindow::Day,
                        86_400_000,
                    ),
                    (
                        CapScope::Delegation(KeyId::parse("0x1:0x2").unwrap()),
                        CapWindow::Total,
                        0,
                    ),
                ],
                unknown,
                record,
                figures,
            }))
        };
        let labelled = ReceiptRecord {
            provider_cost: None,
            subsystem: Some("dream_rem".into()),
            session: Some("s".into()),
            ..record("a", 1, 24)
        };
        vec![
            ending(None, Some(record("a", 1, 24)), None),
            ending(None, Some(labelled.clone()), Some(figures(None))),
            ending(None, Some(labelled), Some(figures(Some(micro(7))))),
            ending(Some(held()), None, None),
            JournalEntry::Hold(held()),
            JournalEntry::Gone((account("b"), request(2))),
        ]
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        for entry in entries() {
            entry.encode(&mut bytes);
        }
        let mut rest = &bytes[..];
        for entry in entries() {
            let read = JournalEntry::decode(&mut rest);
            assert_eq!(format!("{read:?}"), format!("{:?}", Some(entry)));
        }
        assert!(rest.is_empty());
    }

    /// A server of an earlier version may have left such entries behind.
    #[test]
    fn receipts_of_earlier_versions_are_read() {
        type Put = fn(&mut Vec<u8>, &ReceiptRecord);
        let versions: [(u8, Put); 3] = [
            (FIRST_RECORD, put_first_record),
            (SECOND_RECORD, put_second_record),
            (THIRD_RECORD, put_third_record),
        ];
        for (version, put) in versions {
            let JournalEntry::Ending(mut ending) = entries().remove(0) else {
                unreachable!("the first entry is an end");
            };
            let mut record = ending.record.take().unwrap();
            let mut bytes = vec![ENDING];
            ending.encode(&mut bytes);
            assert_eq!(bytes.pop(), Some(NO_RECORD));
            bytes.push(version);
            put(&mut bytes, &record);
            let mut rest = &bytes[..];
            if version != THIRD_RECORD {
                record.prompt_cache = PromptCacheFigures::default();
            }
            ending.record = Some(record);
            let read = JournalEntry::decode(&mut rest);
            let expected = Some(JournalEntry::Ending(ending));
            assert_eq!(format!("{read:?}"), format!("{expected:?}"), "{version}");
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn no_part_of_an_entry_is_taken_for_one() {
        for entry in entries() {
            let mut bytes = Vec::new();
            entry.encode(&mut bytes);
            for end in 0..bytes.len() {
                assert!(
                    JournalEntry::decode(&mut &bytes[..end]).is_none(),
                    "{entry:?}"
                );
            }
        }
    }
}
