//! Tokens that open a stream once: a browser's `EventSource` sends no headers, so the credential
//! has to be in the address, where it can be seen.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bardo_types::ids::AccountId;

/// Time in which a token opens a stream.
pub(crate) const LIFETIME: Duration = Duration::from_secs(60);
/// Tokens of an account that wait to be used; another one takes the place of the oldest.
const WAITING_MAX: usize = 8;
/// Tokens of all accounts that wait to be used.
const ALL_WAITING_MAX: usize = 65_536;

/// The tokens that wait to be used, by their text.
#[derive(Default)]
pub(crate) struct StreamTokens(Mutex<HashMap<String, WaitingToken>>);

struct WaitingToken {
    account: AccountId,
    until: Instant,
}

impl StreamTokens {
    /// A token for an account; `None` where too many wait, or the system has no random numbers.
    pub(crate) fn issue(&self, account: AccountId, now: Instant) -> Option<String> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, token| token.until > now);
        if waiting.len() >= ALL_WAITING_MAX {
            return None;
        }
        let own = || waiting.iter().filter(|(_, token)| token.account == account);
        if own().count() >= WAITING_MAX {
            let oldest = own().min_by_key(|(_, token)| token.until);
            let oldest = oldest.map(|(text, _)| text.clone());
            oldest.and_then(|text| waiting.remove(&text));
        }
        let until = now + LIFETIME;
        waiting.insert(token.clone(), WaitingToken { account, until });
        Some(token)
    }

    /// The account of a token, which is good for nothing from now on.
    pub(crate) fn redeem(&self, token: &str, now: Instant) -> Option<AccountId> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = waiting.remove(token)?;
        (found.until > now).then_some(found.account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_one_stream_of_its_account_for_a_minute() {
        let (tokens, now) = (StreamTokens::default(), Instant::now());
        let account = AccountId::parse("acct_1").unwrap();
        let token = tokens.issue(account.clone(), now).unwrap();
        assert_eq!(tokens.redeem("guessed", now), None);
        assert_eq!(tokens.redeem(&token, now), Some(account.clone()));
        assert_eq!(tokens.redeem(&token, now), None);
        let late = tokens.issue(account, now).unwrap();
        assert_eq!(tokens.redeem(&late, now + LIFETIME), None);
    }

    #[test]
    fn an_account_has_a_few_tokens_at_once_and_takes_none_from_others() {
        let (tokens, now) = (StreamTokens::default(), Instant::now());
        let account = |name: &str| AccountId::parse(name).unwrap();
        let other = tokens.issue(account("acct_2"), now).unwrap();
        let first = tokens.issue(account("acct_1"), now).unwrap();
        let later = now + Duration::from_secs(1);
        for _ in 0..WAITING_MAX {
            assert!(tokens.issue(account("acct_1"), later).is_some());
        }
        assert_eq!(tokens.redeem(&first, later), None);
        assert_eq!(tokens.redeem(&other, later), Some(account("acct_2")));
    }
}
