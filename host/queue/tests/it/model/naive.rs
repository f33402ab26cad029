//! The queue as a list: slow and plain, milliseconds instead of instants, one rule a line. Each
//! rule can be switched off, to see that the histories would notice.

use std::task::Poll;

/// What the queue promises, rule by rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    AddsCollapse,
    OneWorkerPerKey,
    AddInWorkComesBack,
    AgainGoesBehind,
    TimerInWork,
    Priority,
    FirstInFirstOut,
    HighestPriorityCounts,
    NeverLowered,
    RaisedGoesBehind,
    RaiseKeepsAge,
    EarliestTimeCounts,
    AddAbsorbsTimer,
    PlaceWhenReady,
    NeverEarly,
    AgedComesFirst,
    TurnForPriority,
    TurnByEitherOrder,
    FailuresDouble,
    FailuresOfDuplicatesCount,
    ForgetResets,
    SmallerOfTwoTimes,
    TokenForAnEntry,
    NoTokenForADuplicate,
    NotBeforeTheToken,
    TokenForAnEarlierTime,
    BurstIsBounded,
    PauseHoldsBack,
    EndRefusesAdds,
    EndDropsTimers,
    EndHandsOutQueued,
    PausedEndDropsQueued,
}

impl Rule {
    pub(super) const ALL: [Self; 32] = [
        Self::AddsCollapse,
        Self::OneWorkerPerKey,
        Self::AddInWorkComesBack,
        Self::AgainGoesBehind,
        Self::TimerInWork,
        Self::Priority,
        Self::FirstInFirstOut,
        Self::HighestPriorityCounts,
        Self::NeverLowered,
        Self::RaisedGoesBehind,
        Self::RaiseKeepsAge,
        Self::EarliestTimeCounts,
        Self::AddAbsorbsTimer,
        Self::PlaceWhenReady,
        Self::NeverEarly,
        Self::AgedComesFirst,
        Self::TurnForPriority,
        Self::TurnByEitherOrder,
        Self::FailuresDouble,
        Self::FailuresOfDuplicatesCount,
        Self::ForgetResets,
        Self::SmallerOfTwoTimes,
        Self::TokenForAnEntry,
        Self::NoTokenForADuplicate,
        Self::NotBeforeTheToken,
        Self::TokenForAnEarlierTime,
        Self::BurstIsBounded,
        Self::PauseHoldsBack,
        Self::EndRefusesAdds,
        Self::EndDropsTimers,
        Self::EndHandsOutQueued,
        Self::PausedEndDropsQueued,
    ];
}

/// Figures of the queue under test, in milliseconds.
pub(super) const AGEING: u64 = 30;
pub(super) const BASE: u64 = 2;
pub(super) const MAX: u64 = 20;
pub(super) const INTERVAL: u64 = 7;
pub(super) const BURST: u64 = 2;

/// An add as the queue hears it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) key: u8,
    pub(super) priority: i32,
    pub(super) after: Option<u64>,
    pub(super) limited: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    key: u8,
    priority: i32,
    /// Wanted since, or from then on.
    since: u64,
    /// Its time has not come.
    waits: bool,
    token: Option<u64>,
    place: u64,
}

/// What a hand-out says: the key, its priority and how long it was ready.
pub(super) type HandOut = (u8, i32, u64);

#[derive(Debug)]
pub(super) struct Model {
    off: Option<Rule>,
    now: u64,
    entries: Vec<Entry>,
    working: Vec<u8>,
    places: u64,
    age_had_its_turn: bool,
    failures: Vec<(u8, u32)>,
    /// What the bucket holds, in milliseconds; less than nothing if keys wait in line.
    level: i64,
    pub(super) paused: bool,
    pub(super) shut_down: bool,
}

impl Model {
    pub(super) fn without(off: Option<Rule>) -> Self {
        Self {
            off,
            now: 0,
            entries: Vec::new(),
            working: Vec::new(),
            places: 0,
            age_had_its_turn: false,
            failures: Vec::new(),
            level: (BURST * INTERVAL) as i64,
            paused: false,
            shut_down: false,
        }
    }

    fn on(&self, rule: Rule) -> bool {
        self.off != Some(rule)
    }

    fn place(&mut self) -> u64 {
        self.places += 1;
        self.places
    }

    fn is_in_work(&self, key: u8) -> bool {
        self.working.contains(&key)
    }

    /// Keys that can be handed out, those of a low priority, those that wait, those in work.
    pub(super) fn counts(&self) -> (usize, usize, usize, usize) {
        let ready: Vec<_> = self.ready().collect();
        let low = ready.iter().filter(|index| self.entries[**index].priority < 0).count();
        (ready.len(), low, self.entries.iter().filter(|entry| entry.waits).count(), self.working.len())
    }

    pub(super) fn retries(&self, key: u8) -> u32 {
        self.failures.iter().find(|(other, _)| *other == key).map_or(0, |(_, count)| *count)
    }

    pub(super) fn forget(&mut self, key: u8) {
        if self.on(Rule::ForgetResets) {
            self.failures.retain(|(other, _)| *other != key);
        }
    }

    fn fail(&mut self, key: u8) -> u64 {
        let count = self.retries(key);
        if self.on(Rule::FailuresOfDuplicatesCount) || !self.entries.iter().any(|entry| entry.key == key) {
            self.failures.retain(|(other, _)| *other != key);
            self.failures.push((key, count + 1));
        }
        if self.on(Rule::FailuresDouble) { (BASE << count.min(10)).min(MAX) } else { BASE }
    }

    fn take_token(&mut self) -> u64 {
        self.level -= INTERVAL as i64;
        self.now + self.level.min(0).unsigned_abs()
    }

    /// The delay that was asked for.
    pub(super) fn add(&mut self, asked: Asked) -> u64 {
        let Asked { key, priority, after, limited } = asked;
        let backoff = limited.then(|| self.fail(key));
        if self.shut_down && self.on(Rule::EndRefusesAdds) {
            return backoff.unwrap_or(0);
        }
        let old = self.entries.iter().position(|entry| entry.key == key);
        let (mut at, mut token) = (self.now + after.unwrap_or(0), None);
        if let Some(backoff) = backoff {
            let mut limit = self.now + backoff;
            token = self.token(old, limit);
            limit = limit.max(token.unwrap_or(0));
            at = match after {
                None => limit,
                Some(_) if self.on(Rule::SmallerOfTwoTimes) => at.min(limit),
                Some(_) => at.max(limit),
            };
        }
        match old {
            Some(index) => self.add_again(index, priority, at, token),
            None if self.is_in_work(key) && at == self.now && !self.on(Rule::AddInWorkComesBack) => {}
            None if self.is_in_work(key) && at > self.now && !self.on(Rule::TimerInWork) => {}
            None => {
                let place = self.place();
                self.entries.push(Entry { key, priority, since: at, waits: at > self.now, token, place });
            }
        }
        at - self.now
    }

    fn token(&mut self, old: Option<usize>, limit: u64) -> Option<u64> {
        let Some(entry) = old.map(|index| self.entries[index].clone()) else {
            return self.on(Rule::TokenForAnEntry).then(|| self.take_token());
        };
        if !self.on(Rule::NoTokenForADuplicate) {
            return Some(self.take_token());
        }
        match entry.token {
            _ if !entry.waits => None,
            Some(token) => self.on(Rule::NotBeforeTheToken).then_some(token),
            None if limit < entry.since => self.on(Rule::TokenForAnEarlierTime).then(|| self.take_token()),
            None => None,
        }
    }

    fn add_again(&mut self, index: usize, priority: i32, at: u64, token: Option<u64>) {
        let old = self.entries[index].clone();
        if !old.waits && !self.on(Rule::AddsCollapse) {
            let place = self.place();
            self.entries.push(Entry { priority, since: self.now, place, ..old });
            return;
        }
        let mut new = old.clone();
        new.token = old.token.or(token);
        if priority > old.priority && self.on(Rule::HighestPriorityCounts) || !self.on(Rule::NeverLowered) {
            new.priority = priority;
        }
        if !old.waits && new.priority > old.priority {
            new.place = if self.on(Rule::RaisedGoesBehind) { self.place() } else { old.place };
            new.since = if self.on(Rule::RaiseKeepsAge) { old.since } else { self.now };
        }
        if old.waits && (at < old.since || !self.on(Rule::EarliestTimeCounts)) {
            new.since = at;
            new.waits = at > self.now;
            new.place = self.place();
            if at == self.now && !self.on(Rule::AddAbsorbsTimer) {
                self.entries.push(old);
            }
        }
        self.entries[index] = new;
    }

    pub(super) fn advance(&mut self, ms: u64) {
        self.now += ms;
        self.level += ms as i64;
        if self.on(Rule::BurstIsBounded) {
            self.level = self.level.min((BURST * INTERVAL) as i64);
        }
        let slack = u64::from(!self.on(Rule::NeverEarly));
        let mut due: Vec<usize> = (0..self.entries.len()).collect();
        due.retain(|index| self.entries[*index].waits && self.entries[*index].since <= self.now + slack);
        due.sort_by_key(|index| (self.entries[*index].since, self.entries[*index].place));
        for index in due {
            let place = self.place();
            let entry = &mut self.entries[index];
            entry.waits = false;
            if self.off != Some(Rule::PlaceWhenReady) {
                entry.place = place;
            }
        }
    }

    fn ready(&self) -> impl Iterator<Item = usize> {
        let free = |key| !self.is_in_work(key) || !self.on(Rule::OneWorkerPerKey);
        (0..self.entries.len()).filter(move |index| !self.entries[*index].waits && free(self.entries[*index].key))
    }

    pub(super) fn get(&mut self) -> Poll<Option<HandOut>> {
        if self.shut_down && self.entries.is_empty() {
            return Poll::Ready(None);
        }
        if self.paused && self.on(Rule::PauseHoldsBack) {
            return Poll::Pending;
        }
        let by_priority = |index: &usize| {
            let entry = &self.entries[*index];
            let place = if self.on(Rule::FirstInFirstOut) { entry.place as i64 } else { -(entry.place as i64) };
            (if self.on(Rule::Priority) { -entry.priority } else { 0 }, place)
        };
        let by_age = |index: &usize| (self.entries[*index].since, self.entries[*index].place);
        let (Some(first), Some(oldest)) = (self.ready().min_by_key(by_priority), self.ready().min_by_key(by_age)) else {
            return Poll::Pending;
        };
        let aged = self.now.saturating_sub(self.entries[oldest].since) >= AGEING && self.on(Rule::AgedComesFirst);
        let by_age = aged && !(self.age_had_its_turn && self.on(Rule::TurnForPriority));
        let next = if by_age { oldest } else { first };
        self.age_had_its_turn = if self.on(Rule::TurnByEitherOrder) { next == oldest } else { by_age };
        let entry = self.entries.remove(next);
        self.working.push(entry.key);
        Poll::Ready(Some((entry.key, entry.priority, self.now.saturating_sub(entry.since))))
    }

    pub(super) fn done(&mut self, key: u8) {
        self.working.retain(|other| *other != key);
        let place = self.place();
        if self.on(Rule::AgainGoesBehind)
            && let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key && !entry.waits)
        {
            entry.place = place;
        }
    }

    pub(super) fn set(&mut self, paused: bool, shut_down: bool) {
        self.paused = paused;
        self.shut_down = shut_down;
        if shut_down && self.on(Rule::EndDropsTimers) {
            self.entries.retain(|entry| !entry.waits);
        }
        let drops = paused && self.on(Rule::PausedEndDropsQueued) || !self.on(Rule::EndHandsOutQueued);
        if shut_down && drops {
            self.entries.clear();
        }
    }
}
