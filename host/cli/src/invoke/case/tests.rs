use clap::Parser;
use wharf_engine::ApiError;

use super::*;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: InvokeArgs,
}

const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: a}\ndata: {v: '2'}\n";
const OLD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: a}\ndata: {v: '1'}\n";

fn read(files: &[(&str, &str)], args: &[&str]) -> Result<(Case, Scopes, Memory), CliError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let path = |arg: &&str| if arg.contains(".yaml") { folder.path().join(arg).display().to_string() } else { (*arg).to_owned() };
    let fixed = ["wharf", "x.wasm", "--object"].map(ToOwned::to_owned).into_iter().chain([path(&"o.yaml")]);
    let cli = Cli::try_parse_from(fixed.chain(args.iter().map(path))).unwrap();
    Case::read(&cli.args)
}

fn in_cluster(case: &Case, memory: &Memory) -> Result<String, ApiError> {
    memory.get(&case.kind, Some("a"), "x").map(|object| object.resource_version().to_owned())
}

#[test]
fn a_call_of_a_host_is_told_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("call.json");
    let object = |version: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"x","namespace":"a","uid":"u","resourceVersion":"{version}"}}}}"#
        )
    };
    let told = |old: &str, event: &str, removal: &str| {
        let text = format!(
            r#"{{"name":"x","input":{{"event":"{event}","cause":"retry","removal":"{removal}","attempt":4,"subscription":"s","finalStateUnknown":{},"object":{},"old":{old}}}}}"#,
            event == "delete",
            object("7"),
        );
        std::fs::write(&file, text).unwrap();
        let cli = Cli::try_parse_from(["wharf", "x.wasm", "--call", &file.display().to_string()]).unwrap();
        Case::read(&cli.args).unwrap().0
    };
    let delivery = told(&object("5"), "update", "none").delivery("s");
    let version = |object: &Option<Arc<Object>>| object.as_ref().map(|object| object.resource_version().to_owned());
    assert_eq!((version(&delivery.current).as_deref(), version(&delivery.previous).as_deref()), (Some("7"), Some("5")));
    assert_eq!((delivery.cause, delivery.attempt, delivery.final_state_unknown, &*delivery.uid), (Cause::Retry, 4, false, "u"));
    let case = told("null", "update", "none");
    assert!(case.previous.is_none() && case.subscription.as_deref() == Some("s"), "nothing is filled in");
    let delivery = told("null", "delete", "gone").delivery("s");
    assert_eq!((delivery.event, delivery.removal, delivery.final_state_unknown), (Event::Delete, Removal::Gone, true));
    for also in [["--event", "add"], ["--cause", "watch"], ["--attempt", "1"]] {
        let args = ["wharf", "x.wasm", "--call", "c"].into_iter().chain(also);
        assert!(Cli::try_parse_from(args).is_err(), "{also:?}");
    }
    assert!(Cli::try_parse_from(["wharf", "x.wasm", "--event", "add"]).is_err(), "no object");
}

#[test]
fn add_knows_no_earlier_state() {
    let (case, _, memory) = read(&[("o.yaml", OBJECT)], &["--event", "add"]).unwrap();
    let delivery = case.delivery("main");
    assert_eq!((delivery.removal, delivery.cause, delivery.attempt), (Removal::None, Cause::Watch, 1));
    assert!(case.previous.is_none() && in_cluster(&case, &memory).is_ok());
    let error = read(&[("o.yaml", OBJECT), ("p.yaml", OLD)], &["--event", "add", "--old", "p.yaml"]).unwrap_err();
    assert!(error.message.starts_with("--old: "), "{}", error.message);
}

#[test]
fn update_has_two_states_of_one_object() {
    let (case, _, _) = read(&[("o.yaml", OBJECT)], &["--event", "update"]).unwrap();
    assert_eq!(case.previous.as_ref(), Some(&case.current));
    let files = [("o.yaml", OBJECT), ("p.yaml", OLD)];
    let (case, _, memory) = read(&files, &["--event", "update", "--old", "p.yaml", "--cause", "initial-list", "--attempt", "3"]).unwrap();
    let previous = case.previous.clone().unwrap();
    assert_eq!(previous.uid(), case.current.uid());
    assert_eq!((previous.resource_version(), case.current.resource_version()), ("1", "2"));
    assert_eq!((in_cluster(&case, &memory), case.cause, case.attempt), (Ok("2".to_owned()), Cause::InitialList, 3));
}

#[test]
fn a_deleted_object_is_gone_from_the_cluster() {
    let (case, _, memory) = read(&[("o.yaml", OBJECT)], &["--event", "delete"]).unwrap();
    assert_eq!((case.removal, in_cluster(&case, &memory)), (Removal::Gone, Err(ApiError::NotFound)));
    let (case, _, memory) = read(&[("o.yaml", OBJECT)], &["--event", "delete", "--removal", "unmatched"]).unwrap();
    assert!(in_cluster(&case, &memory).is_ok());
    assert!(read(&[("o.yaml", OBJECT)], &["--event", "add", "--removal", "gone"]).is_err());
}

#[test]
fn what_with_says_of_the_object_is_what_the_cluster_has() {
    let newer = OLD.replace("name: x,", "name: x, resourceVersion: '77',");
    let (case, _, memory) = read(&[("o.yaml", OBJECT), ("w.yaml", &newer)], &["--event", "add", "--with", "w.yaml"]).unwrap();
    assert_eq!((in_cluster(&case, &memory), case.current.resource_version()), (Ok("77".to_owned()), "78"));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let other = |from: &str, to: &str| OLD.replace(from, to);
    for (old, expected) in [
        (other("name: x", "name: y"), "v1 ConfigMap a/y is not v1 ConfigMap a/x"),
        (other("kind: ConfigMap", "kind: Secret"), "v1 Secret a/x is not v1 ConfigMap a/x"),
        (other("name: x", "uid: u2, name: x"), "the uid is u2, and that of --object is u1"),
    ] {
        let object = OBJECT.replace("name: x", "uid: u1, name: x");
        let error = read(&[("o.yaml", &object), ("p.yaml", &old)], &["--event", "update", "--old", "p.yaml"]).unwrap_err();
        assert!(error.message.ends_with(expected), "{expected:?} is not in {:?}", error.message);
    }
    let files = [("o.yaml", OBJECT), ("w.yaml", &*format!("{OLD}---\n{OLD}"))];
    let error = read(&files, &["--event", "add", "--with", "w.yaml"]).unwrap_err();
    assert!(error.message.ends_with("v1 ConfigMap a/x is there twice"), "{}", error.message);
}
