//! The request log of the real binary: levels, and that no secret is in it.

use anyhow::Result;
use wharf_testkit::Cluster;

use crate::support::wharf;

#[tokio::test(flavor = "multi_thread")]
async fn each_level_shows_more_and_never_a_secret() -> Result<()> {
    let cluster = Cluster::start().await?;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: hidden, namespace: default}\nstringData: {key: c3cret}\n";
    cluster.kubectl(&["apply", "-f", "-"], Some(secret)).await?;
    let config = cluster.kubeconfig().display().to_string();
    // In base64, as it goes over the wire.
    let hidden = ["YzNjcmV0", "c3cret", cluster.admin_token()];
    let url = format!("url=\"https://{}/api/v1/namespaces/default/secrets?", cluster.address());
    for (level, there, not_there) in [
        ("5", vec![], vec!["wharf::http"]),
        ("6", vec!["wharf::http: response verb=GET", &url, "status=\"200 OK\"", "milliseconds="], vec!["headers"]),
        ("7", vec!["request headers", "authorization: Bearer <masked>", "user-agent: wharf/", "response headers"], vec!["body", "curl"]),
        ("8", vec!["response body", "watch event", "\\\"kind\\\":\\\"Secret\\\"", "<masked>"], vec!["curl"]),
        ("9", vec!["curl -v -X GET", "-H 'authorization: Bearer <masked>'", "<masked>"], vec![]),
    ] {
        let said = wharf(&["get", "secret", "-o", "yaml", "--kubeconfig", &config, &format!("-v={level}")], &[]).await?;
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.out.contains("YzNjcmV0"), "what was asked for is shown: {}", said.out);
        for word in there {
            assert!(said.err.contains(word), "-v={level}: {word:?} is missing in:\n{}", said.err);
        }
        for word in not_there.into_iter().chain(hidden) {
            assert!(!said.err.contains(word), "-v={level}: {word:?} is in:\n{}", said.err);
        }
    }
    cluster.stop().await
}
