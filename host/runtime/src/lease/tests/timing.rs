//! Which times may go together.

use super::super::timing::Timing;
use super::SECOND;

#[test]
fn cl4_times_that_contradict_each_other_are_refused() {
    let timing = |lease: f64, renew: f64, retry: f64| Timing {
        lease: SECOND.mul_f64(lease),
        renew: SECOND.mul_f64(renew),
        retry: SECOND.mul_f64(retry),
    };
    for good in [Timing::default(), timing(3.0, 2.0, 1.0), timing(137.0, 107.0, 26.0)] {
        assert_eq!(good.check(), Ok(()), "{good:?}");
    }
    let wrong = [
        (timing(10.0, 10.0, 2.0), "leaseDuration", "renewDeadline of 10s"),
        (timing(15.0, 20.0, 2.0), "leaseDuration", "could be taken while its holder still leads"),
        (timing(15.0, 2.4, 2.0), "renewDeadline", "1.2 times the retryPeriod of 2s"),
        (timing(15.0, 2.0, 5.0), "renewDeadline", "a single failure"),
        (timing(0.0, 10.0, 2.0), "leaseDuration", "less than a second"),
        (timing(15.0, 0.5, 2.0), "renewDeadline", "less than a second"),
        (timing(15.0, 10.0, 0.9), "retryPeriod", "less than a second"),
        (timing(15.5, 10.0, 2.0), "leaseDuration", "whole seconds"),
    ];
    for (timing, setting, message) in wrong {
        let error = timing.check().unwrap_err();
        assert_eq!(error.setting, setting, "{timing:?}");
        assert!(error.message.contains(message) && !error.hint.is_empty(), "{error:?}");
    }
}

#[test]
fn cl4_calls_and_writes_end_in_this_order_before_the_lease() {
    for timing in [Timing::default(), Timing { lease: 3 * SECOND, renew: 2 * SECOND, retry: SECOND }] {
        assert!(timing.renew < timing.calls() && timing.calls() < timing.acts() && timing.acts() < timing.lease, "{timing:?}");
        assert!(timing.patience() < timing.renew, "{timing:?}");
    }
}
