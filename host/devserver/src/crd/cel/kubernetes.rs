//! The functions that Kubernetes adds to CEL: quantities, URLs, addresses; and the parts of times.

use std::net::IpAddr;
use std::rc::Rc;

use super::EvalError;
use super::functions::{Gives, Overload, global, method, no_overload};
use super::kinds::Kind::{self, Bool, Cidr, Double, Duration, Int, Ip, Quantity as Q, Text as T, Timestamp, Url};
use super::quantity::Quantity;
use super::time;
use super::value::{Budget, Val};

const BOOL: Gives = Gives::Kind(Bool);
const INT: Gives = Gives::Kind(Int);
const TEXT: Gives = Gives::Kind(T);

macro_rules! parts {
    ($($name:literal),*) => {
        [$(
            method($name, &[Timestamp], INT, |_, of| part($name, of)),
            method($name, &[Timestamp, T], INT, |_, of| part($name, of)),
        )*]
    };
}

pub(super) const ALL: &[Overload] = &{
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = parts!(
        "getFullYear",
        "getMonth",
        "getDate",
        "getDayOfMonth",
        "getDayOfWeek",
        "getDayOfYear",
        "getHours",
        "getMinutes",
        "getSeconds",
        "getMilliseconds"
    );
    [
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        j,
        k,
        l,
        m,
        n,
        o,
        p,
        q,
        r,
        s,
        t,
        method("getHours", &[Duration], INT, |_, of| whole(of, 3_600_000_000_000)),
        method("getMinutes", &[Duration], INT, |_, of| whole(of, 60_000_000_000)),
        method("getSeconds", &[Duration], INT, |_, of| whole(of, 1_000_000_000)),
        method("getMilliseconds", &[Duration], INT, |_, of| whole(of, 1_000_000)),
        global("quantity", &[T], Gives::Kind(Q), |_, of| {
            let text = text(of, 0)?;
            Quantity::parse(text).map(Val::Quantity).ok_or_else(|| {
                EvalError::new("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
            })
        }),
        global("isQuantity", &[T], BOOL, |_, of| Ok(Val::Bool(Quantity::parse(text(of, 0)?).is_some()))),
        method("compareTo", &[Q, Q], INT, |_, of| quantities(of).map(|(a, b)| Val::Int(a.cmp(&b) as i64))),
        method("isLessThan", &[Q, Q], BOOL, |_, of| quantities(of).map(|(a, b)| Val::Bool(a < b))),
        method("isGreaterThan", &[Q, Q], BOOL, |_, of| quantities(of).map(|(a, b)| Val::Bool(a > b))),
        method("add", &[Q, Q], Gives::Kind(Q), |_, of| quantities(of).and_then(|(a, b)| kept(a.plus(b)))),
        method("sub", &[Q, Q], Gives::Kind(Q), |_, of| quantities(of).and_then(|(a, b)| kept(a.minus(b)))),
        method("add", &[Q, Int], Gives::Kind(Q), |_, of| with_int(of).and_then(|(a, b)| kept(a.plus(b)))),
        method("sub", &[Q, Int], Gives::Kind(Q), |_, of| with_int(of).and_then(|(a, b)| kept(a.minus(b)))),
        method("sign", &[Q], INT, |_, of| quantity(of, 0).map(|one| Val::Int(one.sign()))),
        method("isInteger", &[Q], BOOL, |_, of| quantity(of, 0).map(|one| Val::Bool(one.whole().is_some()))),
        method("asInteger", &[Q], INT, |_, of| {
            quantity(of, 0)?.whole().map(Val::Int).ok_or_else(|| EvalError::new("cannot convert value to integer"))
        }),
        method("asApproximateFloat", &[Q], Gives::Kind(Double), |_, of| quantity(of, 0).map(|one| Val::Double(one.approximate()))),
        global("url", &[T], Gives::Kind(Url), |budget, of| {
            let text = text(of, 0)?;
            budget.bytes(text.len())?;
            read_url(text).map(|url| Val::Url(Rc::new(url))).ok_or_else(|| EvalError::new("URL parse error during conversion from string"))
        }),
        global("isURL", &[T], BOOL, |budget, of| {
            let text = text(of, 0)?;
            budget.bytes(text.len())?;
            Ok(Val::Bool(read_url(text).is_some()))
        }),
        method("getScheme", &[Url], TEXT, |_, of| url(of).map(|url| Val::text(url.scheme_str().unwrap_or("")))),
        method("getHost", &[Url], TEXT, |_, of| {
            url(of).map(|url| Val::text(url.authority().map_or("", |at| at.as_str().rsplit('@').next().unwrap_or(""))))
        }),
        method("getHostname", &[Url], TEXT, |_, of| {
            url(of).map(|url| Val::text(url.host().unwrap_or("").trim_start_matches('[').trim_end_matches(']')))
        }),
        method("getPort", &[Url], TEXT, |_, of| url(of).map(|url| Val::text(url.port().map_or(String::new(), |port| port.to_string())))),
        method("getEscapedPath", &[Url], TEXT, |_, of| url(of).map(|url| Val::text(url.path()))),
        method("getQuery", &[Url], Gives::Kind(Kind::Map), query),
        global("ip", &[T], Gives::Kind(Ip), |_, of| {
            let text = text(of, 0)?;
            read_ip(text)
                .map(Val::Ip)
                .ok_or_else(|| EvalError::new(format!("IP Address {text:?} parse error during conversion from string")))
        }),
        global("isIP", &[T], BOOL, |_, of| Ok(Val::Bool(read_ip(text(of, 0)?).is_some()))),
        global("ip.isCanonical", &[T], BOOL, |_, of| {
            let text = text(of, 0)?;
            Ok(Val::Bool(read_ip(text).ok_or_else(|| EvalError::new("IP Address parse error"))?.to_string() == text))
        }),
        method("family", &[Ip], INT, |_, of| address(of).map(|ip| Val::Int(if ip.is_ipv4() { 4 } else { 6 }))),
        method("isUnspecified", &[Ip], BOOL, |_, of| address(of).map(|ip| Val::Bool(ip.is_unspecified()))),
        method("isLoopback", &[Ip], BOOL, |_, of| address(of).map(|ip| Val::Bool(ip.is_loopback()))),
        global("cidr", &[T], Gives::Kind(Cidr), |_, of| {
            let text = text(of, 0)?;
            let read = read_cidr(text).map(|(ip, bits)| Val::Cidr(ip, bits));
            read.ok_or_else(|| EvalError::new(format!("network address parse error during conversion from string: {text:?}")))
        }),
        global("isCIDR", &[T], BOOL, |_, of| Ok(Val::Bool(read_cidr(text(of, 0)?).is_some()))),
        method("containsIP", &[Cidr, Ip], BOOL, contains_ip),
        method("containsIP", &[Cidr, T], BOOL, contains_ip),
        method("containsCIDR", &[Cidr, Cidr], BOOL, contains_cidr),
        method("containsCIDR", &[Cidr, T], BOOL, contains_cidr),
        method("prefixLength", &[Cidr], INT, |_, of| cidr(of).map(|(_, bits)| Val::Int(i64::from(bits)))),
        method("ip", &[Cidr], Gives::Kind(Ip), |_, of| cidr(of).map(|(ip, _)| Val::Ip(ip))),
        method("masked", &[Cidr], Gives::Kind(Cidr), |_, of| cidr(of).map(|(ip, bits)| Val::Cidr(masked(ip, bits), bits))),
    ]
};

fn text<'v>(of: &'v [Val<'_>], at: usize) -> Result<&'v str, EvalError> {
    match of.get(at) {
        Some(Val::Text(text)) => Ok(text),
        _ => Err(no_overload()),
    }
}

fn part<'a>(name: &str, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let Some(Val::Timestamp(at)) = of.first() else { return Err(no_overload()) };
    let zone = if of.len() > 1 { Some(text(of, 1)?) } else { None };
    time::part(*at, name, zone).map(Val::Int).ok_or_else(|| EvalError::new(format!("unknown time zone {}", zone.unwrap_or(""))))
}

fn whole<'a>(of: &[Val<'a>], unit: i64) -> Result<Val<'a>, EvalError> {
    let [Val::Duration(nanos)] = of else { return Err(no_overload()) };
    nanos.checked_div(unit).map(Val::Int).ok_or_else(no_overload)
}

fn quantity(of: &[Val<'_>], at: usize) -> Result<Quantity, EvalError> {
    match of.get(at) {
        Some(Val::Quantity(one)) => Ok(*one),
        _ => Err(no_overload()),
    }
}

fn quantities(of: &[Val<'_>]) -> Result<(Quantity, Quantity), EvalError> {
    Ok((quantity(of, 0)?, quantity(of, 1)?))
}

fn with_int(of: &[Val<'_>]) -> Result<(Quantity, Quantity), EvalError> {
    let [Val::Quantity(one), Val::Int(other)] = of else { return Err(no_overload()) };
    Ok((*one, Quantity::of(*other).ok_or_else(no_overload)?))
}

fn kept<'a>(result: Option<Quantity>) -> Result<Val<'a>, EvalError> {
    result.map(Val::Quantity).ok_or_else(|| EvalError::new("quantity overflow"))
}

/// An absolute URL, or an absolute path.
fn read_url(text: &str) -> Option<http::Uri> {
    let url: http::Uri = text.parse().ok()?;
    (url.scheme().is_some() || text.starts_with('/')).then_some(url)
}

fn url<'v>(of: &'v [Val<'_>]) -> Result<&'v http::Uri, EvalError> {
    match of.first() {
        Some(Val::Url(url)) => Ok(url),
        _ => Err(no_overload()),
    }
}

fn query<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let mut found: std::collections::BTreeMap<&str, Vec<Val<'a>>> = std::collections::BTreeMap::new();
    for pair in url(of)?.query().unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
        budget.spend(1)?;
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        found.entry(key).or_default().push(Val::text(value));
    }
    Ok(Val::Map(Rc::new(found.into_iter().map(|(key, values)| (Val::text(key), Val::list(values))).collect())))
}

fn read_ip(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

fn read_cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (ip, bits) = text.split_once('/')?;
    let (ip, bits): (IpAddr, u8) = (ip.parse().ok()?, bits.parse().ok()?);
    (bits <= if ip.is_ipv4() { 32 } else { 128 }).then_some((ip, bits))
}

fn address(of: &[Val<'_>]) -> Result<IpAddr, EvalError> {
    match of.first() {
        Some(Val::Ip(ip)) => Ok(*ip),
        _ => Err(no_overload()),
    }
}

fn cidr(of: &[Val<'_>]) -> Result<(IpAddr, u8), EvalError> {
    match of.first() {
        Some(Val::Cidr(ip, bits)) => Ok((*ip, *bits)),
        _ => Err(no_overload()),
    }
}

/// The network of an address.
fn masked(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(u32::from(bits))).unwrap_or(0);
            IpAddr::V4((ip.to_bits() & mask).into())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(u32::from(bits))).unwrap_or(0);
            IpAddr::V6((ip.to_bits() & mask).into())
        }
    }
}

fn contains_ip<'a>(_: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (network, bits) = cidr(of)?;
    let ip = match of.get(1) {
        Some(Val::Ip(ip)) => *ip,
        _ => read_ip(text(of, 1)?).ok_or_else(|| EvalError::new("IP Address parse error during conversion from string"))?,
    };
    Ok(Val::Bool(ip.is_ipv4() == network.is_ipv4() && masked(ip, bits) == masked(network, bits)))
}

fn contains_cidr<'a>(_: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (network, bits) = cidr(of)?;
    let (ip, longer) = match of.get(1) {
        Some(Val::Cidr(ip, bits)) => (*ip, *bits),
        _ => read_cidr(text(of, 1)?).ok_or_else(|| EvalError::new("network address parse error during conversion from string"))?,
    };
    Ok(Val::Bool(longer >= bits && ip.is_ipv4() == network.is_ipv4() && masked(ip, bits) == masked(network, bits)))
}
