//! What a fault does to the events of one watch. A small state machine: pure, no clock, no dice.

use super::Fault;
use crate::status::Status;
use crate::verbs::WatchEvent;

/// How a watch is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// As by its timeout.
    Clean,
    /// The connection breaks.
    Abrupt,
}

/// What is to be done before the next event is waited for.
#[derive(Debug, PartialEq)]
pub(crate) enum Due {
    /// Nothing is written any more.
    End(Cut),
    /// This error is the last event.
    Expire(Status),
    /// A line that is no event.
    Garbage,
}

/// What is written for an event.
#[derive(Debug)]
pub(crate) enum Out<'a> {
    /// The event itself.
    Event(&'a WatchEvent),
    /// One that was made up.
    Made(WatchEvent),
}

/// The faults of one watch.
#[derive(Debug, Default)]
pub(crate) struct Mangle {
    seen: u64,
    cut: Option<(u64, Cut)>,
    expire: Option<u64>,
    garbage: Option<u64>,
    repeat_bookmarks: bool,
    stale_bookmarks: bool,
}

impl Mangle {
    /// Adds a fault; of those that end a watch the first of a kind counts.
    pub(crate) fn add(&mut self, fault: &Fault) {
        match *fault {
            Fault::CutWatch { after, abrupt } => {
                self.cut.get_or_insert((after, if abrupt { Cut::Abrupt } else { Cut::Clean }));
            }
            Fault::ExpireWatch { after } => {
                self.expire.get_or_insert(after);
            }
            Fault::BrokenEvent { after } => {
                self.garbage.get_or_insert(after);
            }
            Fault::RepeatBookmarks {} => self.repeat_bookmarks = true,
            Fault::StaleBookmarks {} => self.stale_bookmarks = true,
            Fault::Delay { .. } | Fault::TooManyRequests { .. } | Fault::Fail { .. } | Fault::ExpireContinue {} => {}
        }
    }

    /// Whether it does nothing any more, so that events may be written in batches.
    pub(crate) fn is_idle(&self) -> bool {
        self.cut.is_none() && self.expire.is_none() && self.garbage.is_none() && !self.repeat_bookmarks && !self.stale_bookmarks
    }

    /// What is due now; each fault once.
    pub(crate) fn due(&mut self) -> Option<Due> {
        let seen = self.seen;
        if self.garbage.take_if(|after| seen >= *after).is_some() {
            return Some(Due::Garbage);
        }
        if self.expire.take_if(|after| seen >= *after).is_some() {
            // Nothing follows an error.
            self.cut = Some((0, Cut::Clean));
            return Some(Due::Expire(Status::expired("too old resource version: the history was cut by a fault")));
        }
        // Stays due: the end of a stream may be asked for again.
        self.cut.filter(|(after, _)| seen >= *after).map(|(_, cut)| Due::End(cut))
    }

    /// What is written for an event, which is counted.
    pub(crate) fn pass<'a>(&mut self, event: &'a WatchEvent) -> Vec<Out<'a>> {
        self.seen = self.seen.saturating_add(1);
        let mut out = vec![Out::Event(event)];
        if let WatchEvent::Bookmark { version, .. } = event {
            if self.repeat_bookmarks {
                out.push(Out::Event(event));
            }
            if self.stale_bookmarks {
                out.push(Out::Made(WatchEvent::Bookmark { version: version.saturating_sub(1), initial_end: false }));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{Cut, Due, Mangle, Out};
    use crate::fault::Fault;
    use crate::verbs::WatchEvent;

    fn mangle(faults: &[Fault]) -> Mangle {
        let mut mangle = Mangle::default();
        for fault in faults {
            mangle.add(fault);
        }
        mangle
    }

    /// What a watch of `events` bookmarks with the versions 10, 20, … shows.
    fn shown(mut mangle: Mangle, events: u64) -> Vec<String> {
        let mut out = Vec::new();
        for index in 0..=events {
            while let Some(due) = mangle.due() {
                match due {
                    Due::End(cut) => {
                        out.push(format!("{cut:?}"));
                        return out;
                    }
                    Due::Expire(status) => out.push(status.code.to_string()),
                    Due::Garbage => out.push("garbage".to_owned()),
                }
            }
            if index == events {
                break;
            }
            let event = WatchEvent::Bookmark { version: (index + 1) * 10, initial_end: false };
            for one in mangle.pass(&event) {
                let event = match &one {
                    Out::Event(event) => event,
                    Out::Made(event) => event,
                };
                match event {
                    WatchEvent::Bookmark { version, .. } => out.push(version.to_string()),
                    other => panic!("{other:?}"),
                }
            }
        }
        out
    }

    #[test]
    fn does_what_it_is_told() {
        for (faults, want) in [
            (vec![], vec!["10", "20", "30"]),
            (vec![Fault::CutWatch { after: 0, abrupt: false }], vec!["Clean"]),
            (vec![Fault::CutWatch { after: 2, abrupt: true }], vec!["10", "20", "Abrupt"]),
            (vec![Fault::ExpireWatch { after: 1 }], vec!["10", "410", "Clean"]),
            (vec![Fault::BrokenEvent { after: 1 }], vec!["10", "garbage", "20", "30"]),
            (vec![Fault::BrokenEvent { after: 1 }, Fault::CutWatch { after: 1, abrupt: false }], vec!["10", "garbage", "Clean"]),
            (vec![Fault::RepeatBookmarks {}], vec!["10", "10", "20", "20", "30", "30"]),
            (vec![Fault::StaleBookmarks {}], vec!["10", "9", "20", "19", "30", "29"]),
            (vec![Fault::CutWatch { after: 3, abrupt: false }], vec!["10", "20", "30", "Clean"]),
        ] {
            assert_eq!(shown(mangle(&faults), 3), want, "{faults:?}");
        }
    }

    #[test]
    fn is_idle_when_nothing_is_left_to_do() {
        assert!(Mangle::default().is_idle());
        let mut one = mangle(&[Fault::BrokenEvent { after: 0 }]);
        assert!(!one.is_idle());
        assert_eq!(one.due(), Some(Due::Garbage));
        assert!(one.is_idle());
        assert!(!mangle(&[Fault::StaleBookmarks {}]).is_idle());
        assert_eq!(mangle(&[Fault::CutWatch { after: 0, abrupt: true }]).due(), Some(Due::End(Cut::Abrupt)));
    }
}
