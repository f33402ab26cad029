//! Cluster addresses of Services: given out one after the other. Whether a client that chose one itself took it from another Service is not
//! looked at.

use std::net::Ipv4Addr;

use parking_lot::Mutex;
use serde_json::Value;

use super::Api;
use crate::defaults::World;

/// `10.96.0.0/16`, as kubeadm's clusters have it; the first is the Service `kubernetes`.
const FIRST: u32 = u32::from_be_bytes([10, 96, 0, 1]);
const LAST: u32 = u32::from_be_bytes([10, 96, 255, 254]);

/// The next address to give. Services keep theirs, so what was ever given is not given again until the range has gone round.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    given: Mutex<u32>,
}

impl Addresses {
    /// Goes on behind the highest address of the Services that are there.
    pub(crate) fn take_all(&self, api: &Api) {
        let Ok(services) = api.store.list("services", None, None) else { return };
        let highest = services.items.iter().filter_map(|service| {
            let value: Value = serde_json::from_slice(&service.json).ok()?;
            value.pointer("/spec/clusterIP")?.as_str()?.parse::<Ipv4Addr>().ok()
        });
        let highest = highest.map(u32::from).filter(|address| (FIRST..=LAST).contains(address)).max();
        *self.given.lock() = highest.map_or(0, |address| address - FIRST + 1);
    }
}

impl World for Addresses {
    fn service_address(&self) -> Option<String> {
        let mut given = self.given.lock();
        // Behind the last comes the second: the first is that of the Service `kubernetes`.
        let address = if FIRST + *given > LAST { FIRST + 1 } else { FIRST + *given };
        *given = address - FIRST + 1;
        Some(Ipv4Addr::from(address).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stay_in_their_range_and_never_take_the_first_again() {
        let addresses = Addresses::default();
        assert_eq!(addresses.service_address().as_deref(), Some("10.96.0.1"));
        assert_eq!(addresses.service_address().as_deref(), Some("10.96.0.2"));
        for given in [LAST - FIRST, LAST - FIRST + 1] {
            *addresses.given.lock() = given;
            let expected = if given == LAST - FIRST { "10.96.255.254" } else { "10.96.0.2" };
            assert_eq!(addresses.service_address().as_deref(), Some(expected));
        }
    }
}
