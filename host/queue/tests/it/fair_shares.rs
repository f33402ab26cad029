//! Shares: max-min between groups, one kept for a group that has none, and that none is lost.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use wharf_queue::{Acquire, Holder, Share, Shares, SharesStats};

/// One look, as a task would have it that is woken.
fn poll(acquire: &mut Pin<Box<Acquire>>) -> Poll<Share> {
    acquire.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Asks, and looks once.
fn ask(holder: &Holder, amount: u32) -> (Pin<Box<Acquire>>, Option<Share>) {
    let mut acquire = Box::pin(holder.acquire(amount));
    let got = match poll(&mut acquire) {
        Poll::Ready(share) => Some(share),
        Poll::Pending => None,
    };
    (acquire, got)
}

fn take(holder: &Holder) -> Share {
    ask(holder, 1).1.expect("one is free")
}

#[test]
fn one_is_kept_for_a_group_that_has_none() {
    let shares = Shares::new(8);
    let sleepers: Vec<_> = (0..300).map(|i| shares.holder("crowd", 1, &format!("m{i}"), 1)).collect();
    let other = shares.holder("other", 1, "m", 1);
    let asked: Vec<_> = sleepers.iter().map(|holder| ask(holder, 1)).collect();
    assert_eq!(asked.iter().filter(|(_, share)| share.is_some()).count(), 7);
    for _ in 0..10 {
        let _held = take(&other);
        assert_eq!(shares.stats(), SharesStats { free: 0, waiting: 293 });
    }
    assert_eq!(shares.stats(), SharesStats { free: 1, waiting: 293 }, "given back to whom it is kept for");
}

#[test]
fn a_crowd_leaves_a_ninth_to_the_others() {
    let shares = Shares::new(256);
    let (crowd, other) = (shares.holder("crowd", 1, "m", 1), shares.holder("other", 1, "m", 1));
    let asked: Vec<_> = (0..300).map(|_| ask(&crowd, 1)).collect();
    let held = |asked: &[(Pin<Box<Acquire>>, Option<Share>)]| asked.iter().filter(|(_, share)| share.is_some()).count();
    assert_eq!((held(&asked), shares.stats().free, shares.short()), (228, 28, false), "who waits, waits for its own");
    // Another one takes what is free, as long as it leaves its own part.
    let others: Vec<_> = (0..40).map(|_| ask(&other, 1)).collect();
    assert_eq!((held(&others), shares.stats().free, shares.short()), (25, 3, false));
    let third = shares.holder("third", 1, "m", 1);
    let _two = (take(&third), take(&third));
    assert!(shares.short(), "the last one is for who has none");
}

#[test]
fn a_group_alone_may_have_all() {
    let shares = Shares::new(4);
    let holder = shares.holder("g", 1, "m", 1);
    let held: Vec<_> = (0..4).map(|_| take(&holder)).collect();
    assert_eq!(held.len(), 4);
    let other = shares.holder("late", 1, "m", 1);
    let (mut waits, got) = ask(&other, 1);
    assert!(got.is_none());
    let (_rich, got) = ask(&holder, 1);
    assert!(got.is_none());
    drop(held.into_iter().next());
    assert!(poll(&mut waits).is_ready(), "the first that is given back");
}

#[test]
fn what_becomes_free_goes_to_who_has_least() {
    let shares = Shares::new(9);
    let (crowd, late) = (shares.holder("crowd", 1, "m", 1), shares.holder("late", 1, "m", 1));
    let mut held: Vec<_> = (0..8).map(|_| take(&crowd)).collect();
    let mut more: Vec<_> = (0..8).map(|_| ask(&crowd, 1)).collect();
    let mut wants: Vec<_> = (0..8).map(|_| ask(&late, 1)).collect();
    let has = |asked: &mut Vec<(Pin<Box<Acquire>>, Option<Share>)>| {
        for (acquire, share) in asked.iter_mut().filter(|(_, share)| share.is_none()) {
            if let Poll::Ready(got) = poll(acquire) {
                *share = Some(got);
            }
        }
        asked.iter().filter(|(_, share)| share.is_some()).count()
    };
    assert_eq!(has(&mut wants), 1, "the one that was kept");
    for given_back in 1..=3 {
        held.pop();
        assert_eq!((has(&mut wants), has(&mut more)), (given_back, 0), "the first fills the one that is kept");
    }
    // 5 and 3; one is free.
    held.pop();
    assert_eq!((held.len(), has(&mut wants), has(&mut more)), (4, 4, 0));
    held.pop();
    // 3 and 4: now the crowd has least.
    assert_eq!((held.len(), has(&mut wants), has(&mut more)), (3, 4, 1));
}

#[test]
fn weights_count() {
    let shares = Shares::new(9);
    let (heavy, light) = (shares.holder("heavy", 3, "m", 1), shares.holder("light", 1, "m", 1));
    let all = ask(&shares.holder("third", 1, "m", 1), 9).1.unwrap();
    let mut asked: Vec<_> = (0..12).flat_map(|_| [("heavy", ask(&heavy, 1).0), ("light", ask(&light, 1).0)]).collect();
    drop(all);
    let got: Vec<_> = asked.iter_mut().filter_map(|(who, acquire)| Some((*who, poll(acquire))).filter(|got| got.1.is_ready())).collect();
    let of = |name: &str| got.iter().filter(|(who, _)| *who == name).count();
    assert_eq!((of("heavy"), of("light"), shares.stats().free), (6, 2, 1));
}

#[test]
fn members_of_a_group_hold_alike_and_are_served_in_their_order() {
    let shares = Shares::new(4);
    let (a, b) = (shares.holder("g", 1, "a", 1), shares.holder("g", 1, "b", 1));
    let mut held: Vec<_> = (0..4).map(|_| take(&a)).collect();
    let (mut a1, _) = ask(&a, 1);
    let (mut a2, _) = ask(&a, 1);
    let (mut b1, _) = ask(&b, 1);
    let (mut b2, _) = ask(&b, 1);
    held.pop();
    let Poll::Ready(first) = poll(&mut b1) else { panic!("b has none") };
    held.pop();
    let Poll::Ready(second) = poll(&mut b2) else { panic!("b has one, a two") };
    held.pop();
    assert!(poll(&mut a2).is_pending(), "a1 came first");
    assert!(poll(&mut a1).is_ready());
    drop((first, second));
}

#[test]
fn a_large_wish_is_not_overtaken() {
    let shares = Shares::new(4);
    let (large, small) = (shares.holder("large", 1, "m", 3), shares.holder("small", 1, "m", 1));
    let one = take(&small);
    let (two, got) = ask(&small, 1);
    assert!(got.is_none(), "as many are kept as the largest wants");
    drop((two, ask(&large, 3).1.unwrap()));
    let (other, third) = (shares.holder("other", 1, "m", 1), shares.holder("third", 1, "m", 1));
    drop(take(&third));
    let second = take(&other);
    let (mut wish, got) = ask(&large, 3);
    assert!(got.is_none());
    let (mut waits, got) = ask(&third, 1);
    assert!(got.is_none(), "it has no less, and was served later");
    drop(one);
    assert!(poll(&mut wish).is_ready(), "three are free");
    drop(second);
    assert!(poll(&mut waits).is_ready());
    // More than there are is all.
    assert!(ask(&large, 99).1.is_some());
}

#[test]
fn whoever_stops_waiting_takes_nothing_along() {
    let shares = Shares::new(2);
    let holder = shares.holder("g", 1, "m", 1);
    let held = take(&holder);
    let also = take(&holder);
    let (waits, _) = ask(&holder, 1);
    let (mut next, _) = ask(&holder, 1);
    let (gone, _) = ask(&holder, 1);
    drop(gone);
    drop(held);
    // It was given to the first, which is dropped before it looks.
    assert_eq!(shares.stats(), SharesStats { free: 0, waiting: 1 });
    drop(waits);
    assert!(poll(&mut next).is_ready());
    drop(also);
    drop(next);
    assert_eq!(shares.stats(), SharesStats { free: 2, waiting: 0 });
}

#[tokio::test]
async fn who_waits_is_woken() {
    let shares = Shares::new(1);
    let holder = shares.holder("g", 1, "m", 1);
    let held = take(&holder);
    let waiting = tokio::spawn({
        let holder = holder.clone();
        async move { drop(holder.acquire(1).await) }
    });
    while shares.stats().waiting == 0 {
        tokio::task::yield_now().await;
    }
    drop(held);
    crate::ends(waiting).await.unwrap().unwrap();
    assert_eq!(shares.stats(), SharesStats { free: 1, waiting: 0 });
}

#[derive(Clone, Debug)]
enum Op {
    Ask(usize, usize, u32),
    GiveBack(usize),
    GiveUp(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => (0..4usize, 0..3usize, 1..3u32).prop_map(|(group, member, amount)| Op::Ask(group, member, amount)),
        4 => any::<usize>().prop_map(Op::GiveBack),
        1 => any::<usize>().prop_map(Op::GiveUp),
    ]
}

/// Lists and scans instead of lines and trees.
struct Model {
    total: u32,
    weights: Vec<u32>,
    /// Number, group, member, amount.
    waiting: Vec<(usize, usize, usize, u32)>,
    held: Vec<(usize, usize, usize, u32)>,
    served: u64,
    served_group: BTreeMap<usize, u64>,
    served_member: BTreeMap<(usize, usize), u64>,
}

impl Model {
    fn free(&self) -> u32 {
        self.total - self.held.iter().map(|held| held.3).sum::<u32>()
    }

    fn of_group(&self, group: usize) -> u32 {
        self.held.iter().filter(|held| held.1 == group).map(|held| held.3).sum()
    }

    fn of_member(&self, group: usize, member: usize) -> u32 {
        self.held.iter().filter(|held| (held.1, held.2) == (group, member)).map(|held| held.3).sum()
    }

    /// Who is next by the rule, if it fits.
    fn hand_out(&mut self) {
        loop {
            let key = |w: &&(usize, usize, usize, u32)| {
                let (number, group, member, _) = **w;
                let share = u64::from(self.of_group(group)) * 720_720 / u64::from(self.weights[group]);
                let last = (self.served_group.get(&group), self.served_member.get(&(group, member)));
                (share, last.0.copied(), group, self.of_member(group, member), last.1.copied(), member, number)
            };
            let Some(next) = self.waiting.iter().min_by_key(key).copied() else { return };
            let (number, group, member, amount) = next;
            let free = self.free();
            let held = self.of_group(group);
            let must_leave = ((held + amount) / (8 * self.weights[group])).max(2);
            if free < amount || (held > 0 && free - amount < must_leave) {
                return;
            }
            self.waiting.retain(|w| w.0 != number);
            self.held.push(next);
            self.served += 1;
            self.served_group.insert(group, self.served);
            self.served_member.insert((group, member), self.served);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shares_do_what_the_model_does(
        total in prop_oneof![3..9u32, 9..40u32],
        weights in prop::collection::vec(1..5u32, 4),
        ops in prop::collection::vec(op(), 1..150),
    ) {
        let shares = Shares::new(total);
        // All are there from the beginning, so that numbers and names have one order.
        let holders: Vec<Vec<Holder>> = (0..4)
            .map(|group| (0..3).map(|member| shares.holder(&format!("g{group}"), weights[group], &format!("m{member}"), 2)).collect())
            .collect();
        let mut model = Model {
            total, weights, waiting: Vec::new(), held: Vec::new(), served: 0, served_group: BTreeMap::new(), served_member: BTreeMap::new(),
        };
        let mut asked: BTreeMap<usize, Pin<Box<Acquire>>> = BTreeMap::new();
        let mut held: BTreeMap<usize, Share> = BTreeMap::new();
        for (number, op) in ops.into_iter().enumerate() {
            match op {
                Op::Ask(group, member, amount) => {
                    asked.insert(number, Box::pin(holders[group][member].acquire(amount)));
                    model.waiting.push((number, group, member, amount));
                }
                Op::GiveBack(at) if !held.is_empty() => {
                    let number = *held.keys().nth(at % held.len()).unwrap();
                    held.remove(&number);
                    model.held.retain(|held| held.0 != number);
                }
                Op::GiveUp(at) if !asked.is_empty() => {
                    let number = *asked.keys().nth(at % asked.len()).unwrap();
                    asked.remove(&number);
                    model.waiting.retain(|waiting| waiting.0 != number);
                }
                Op::GiveBack(_) | Op::GiveUp(_) => {}
            }
            model.hand_out();
            for number in asked.keys().copied().collect::<Vec<_>>() {
                if let Poll::Ready(share) = poll(asked.get_mut(&number).unwrap()) {
                    asked.remove(&number);
                    held.insert(number, share);
                }
            }
            let mut wanted: Vec<usize> = model.held.iter().map(|held| held.0).collect();
            wanted.sort_unstable();
            prop_assert_eq!(held.keys().copied().collect::<Vec<_>>(), wanted);
            prop_assert_eq!(shares.stats(), SharesStats { free: model.free(), waiting: model.waiting.len() });
        }
        drop(asked);
        drop(held);
        prop_assert_eq!(shares.stats(), SharesStats { free: total, waiting: 0 });
    }
}
