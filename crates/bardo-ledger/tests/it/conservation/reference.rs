//! The reference: a list of deposits and a list of holds, added up anew for every question.

/// A counter of a cap, by words: whose, and which day, month or nothing.
pub(super) type Counter = (String, String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Unknown,
    Expired,
    Released,
    Captured {
        provider_cost: u64,
        spread: u64,
        shortfall: u64,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Hold {
    pub(super) account: usize,
    pub(super) request: u64,
    pub(super) amount: u64,
    pub(super) expires_at_ms: u64,
    /// With their limits.
    pub(super) counters: Vec<(Counter, u64)>,
    pub(super) state: State,
}

#[derive(Debug, Default)]
pub(super) struct Reference {
    /// Account and amount; an account is there once it has one.
    pub(super) deposits: Vec<(usize, u64)>,
    pub(super) holds: Vec<Hold>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum No {
    Account,
    Seen,
    Money,
    Cap,
    Hold,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) provider_cost: u64,
    pub(super) spread: u64,
    pub(super) shortfall: u64,
    pub(super) repeated: bool,
}

const NOTHING: Settled = Settled {
    provider_cost: 0,
    spread: 0,
    shortfall: 0,
    repeated: false,
};

impl Hold {
    fn held(&self) -> u64 {
        match self.state {
            State::Open | State::Unknown => self.amount,
            State::Expired | State::Released | State::Captured { .. } => 0,
        }
    }

    fn spent(&self) -> u64 {
        match self.state {
            State::Captured {
                provider_cost,
                spread,
                ..
            } => provider_cost + spread,
            State::Open | State::Unknown | State::Expired | State::Released => 0,
        }
    }
}

impl Reference {
    pub(super) fn exists(&self, account: usize) -> bool {
        self.deposits.iter().any(|(whose, _)| *whose == account)
    }

    pub(super) fn deposited(&self, account: usize) -> u64 {
        let own = self.deposits.iter().filter(|(whose, _)| *whose == account);
        own.map(|(_, amount)| amount).sum()
    }

    pub(super) fn held(&self, account: usize) -> u64 {
        self.of(account).map(Hold::held).sum()
    }

    pub(super) fn spent(&self, account: usize) -> u64 {
        self.of(account).map(Hold::spent).sum()
    }

    pub(super) fn available(&self, account: usize) -> u64 {
        let gone = self.held(account) + self.spent(account);
        let left = self.deposited(account).checked_sub(gone);
        left.expect("the reference itself never overdraws")
    }

    pub(super) fn used(&self, counter: &Counter) -> u64 {
        self.holds
            .iter()
            .filter(|hold| hold.counters.iter().any(|(own, _)| own == counter))
            .map(|hold| hold.held() + hold.spent())
            .sum()
    }

    fn of(&self, account: usize) -> impl Iterator<Item = &Hold> {
        self.holds
            .iter()
            .filter(move |hold| hold.account == account)
    }

    fn position(&self, account: usize, request: u64) -> Option<usize> {
        self.holds
            .iter()
            .position(|hold| hold.account == account && hold.request == request)
    }

    fn fits(&self, counters: &[(Counter, u64)], more: u64) -> bool {
        counters
            .iter()
            .all(|(counter, limit)| *limit > 0 && self.used(counter) + more <= *limit)
    }

    pub(super) fn reserve(&mut self, hold: Hold) -> Result<(), No> {
        if !self.exists(hold.account) {
            return Err(No::Account);
        }
        if self.position(hold.account, hold.request).is_some() {
            return Err(No::Seen);
        }
        if hold.amount > self.available(hold.account) {
            return Err(No::Money);
        }
        if !self.fits(&hold.counters, hold.amount) {
            return Err(No::Cap);
        }
        self.holds.push(hold);
        Ok(())
    }

    pub(super) fn extend(&mut self, account: usize, request: u64, by: u64) -> Result<(), No> {
        let Some(at) = self.position(account, request) else {
            return Err(No::Hold);
        };
        if self.holds[at].state != State::Open {
            return Err(No::Hold);
        }
        if by > self.available(account) {
            return Err(No::Money);
        }
        if !self.fits(&self.holds[at].counters, by) {
            return Err(No::Cap);
        }
        self.holds[at].amount += by;
        Ok(())
    }

    pub(super) fn leave(&mut self, account: usize, request: u64) -> Settled {
        match self.position(account, request) {
            None => NOTHING,
            Some(at) => match self.holds[at].state {
                State::Open => {
                    self.holds[at].state = State::Unknown;
                    NOTHING
                }
                State::Unknown => Settled {
                    repeated: true,
                    ..NOTHING
                },
                State::Expired => NOTHING,
                State::Released | State::Captured { .. } => self.again(at),
            },
        }
    }

    pub(super) fn release(&mut self, account: usize, request: u64) -> Settled {
        let at = self.find_or_note(account, request);
        match self.holds[at].state {
            State::Open | State::Unknown | State::Expired => {
                self.holds[at].state = State::Released;
                NOTHING
            }
            State::Released | State::Captured { .. } => self.again(at),
        }
    }

    pub(super) fn capture(
        &mut self,
        account: usize,
        request: u64,
        provider_cost: u64,
        spread: u64,
    ) -> Settled {
        let at = self.find_or_note(account, request);
        match self.holds[at].state {
            State::Open | State::Unknown | State::Expired => {}
            State::Released | State::Captured { .. } => return self.again(at),
        }
        // With its hold given back, so much is there.
        self.holds[at].state = State::Expired;
        let mut reach = self.available(account);
        for (counter, limit) in &self.holds[at].counters {
            reach = reach.min(limit.saturating_sub(self.used(counter)));
        }
        let to_provider = provider_cost.min(reach);
        let to_us = spread.min(reach - to_provider);
        self.holds[at].state = State::Captured {
            provider_cost: to_provider,
            spread: to_us,
            shortfall: provider_cost + spread - to_provider - to_us,
        };
        Settled {
            repeated: false,
            ..self.again(at)
        }
    }

    /// The requests that expire, by account.
    pub(super) fn expire(&mut self, now_ms: u64) -> Vec<(usize, u64)> {
        let mut over = Vec::new();
        for hold in &mut self.holds {
            if hold.state == State::Open && hold.expires_at_ms <= now_ms {
                hold.state = State::Expired;
                over.push((hold.account, hold.request));
            }
        }
        over.sort_unstable();
        over
    }

    /// A request that nobody made a hold for is noted when it ends, so that it ends once.
    fn find_or_note(&mut self, account: usize, request: u64) -> usize {
        self.position(account, request).unwrap_or_else(|| {
            self.holds.push(Hold {
                account,
                request,
                amount: 0,
                expires_at_ms: 0,
                counters: Vec::new(),
                state: State::Expired,
            });
            self.holds.len() - 1
        })
    }

    fn again(&self, at: usize) -> Settled {
        match self.holds[at].state {
            State::Captured {
                provider_cost,
                spread,
                shortfall,
            } => Settled {
                provider_cost,
                spread,
                shortfall,
                repeated: true,
            },
            State::Open | State::Unknown | State::Expired | State::Released => Settled {
                repeated: true,
                ..NOTHING
            },
        }
    }
}
