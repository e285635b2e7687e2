//! Tokens that open a stream once: a browser's `EventSource` sends no headers, so the credential
//! has to be in the address, where it can be seen.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bardo_types::ids::AccountId;

/// Time in which a token opens a stream.
pub(crate) const LIFETIME: Duration = Duration::from_secs(60);
/// Tokens that wait to be used.
const WAITING_MAX: usize = 1_024;

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
        if waiting.len() >= WAITING_MAX {
            return None;
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
    fn tokens_that_wait_are_bounded_and_make_room_as_they_expire() {
        let (tokens, now) = (StreamTokens::default(), Instant::now());
        let issue = |at| tokens.issue(AccountId::parse("acct_1").unwrap(), at);
        assert!((0..WAITING_MAX).all(|_| issue(now).is_some()));
        assert_eq!(issue(now), None);
        assert!(issue(now + LIFETIME).is_some());
    }
}
