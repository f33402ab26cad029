//! Reviews: questions about users and permissions that are asked as objects and answered at once. Nothing of them is stored.

use serde_json::{Value, json};

use super::Front;
use super::account::{self, Claims, ISSUER};
use super::authorize::Attributes;
use super::identity::{Identity, User};
use super::random;
use crate::json::Read;
use crate::schema::time_text;
use crate::status::{About, Cause, Status};

/// The shortest life of a token that is asked for, and the usual one, in seconds.
const SHORTEST: i64 = 600;
const USUAL: i64 = 3600;
const LONGEST: i64 = 1 << 32;

/// Which question it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Review {
    SelfAccess,
    Access,
    LocalAccess,
    SelfRules,
    Token,
    SelfUser,
    TokenRequest,
}

const REVIEWS: [(&str, &str, &str, Review); 7] = [
    ("authorization.k8s.io", "selfsubjectaccessreviews", "", Review::SelfAccess),
    ("authorization.k8s.io", "subjectaccessreviews", "", Review::Access),
    ("authorization.k8s.io", "localsubjectaccessreviews", "", Review::LocalAccess),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "", Review::SelfRules),
    ("authentication.k8s.io", "tokenreviews", "", Review::Token),
    ("authentication.k8s.io", "selfsubjectreviews", "", Review::SelfUser),
    ("", "serviceaccounts", "token", Review::TokenRequest),
];

/// Who asks what.
pub(crate) struct Question<'a> {
    pub(crate) review: Review,
    pub(crate) asker: &'a Identity,
    /// Of the path; a service account's for TokenRequest.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// Of the review itself, e.g. `authorization.k8s.io/v1` and `SubjectAccessReview`.
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) body: Value,
}

/// Whether a resource is a question.
pub(crate) fn find(group: &str, plural: &str, subresource: Option<&str>) -> Option<Review> {
    let part = subresource.unwrap_or_default();
    REVIEWS
        .iter()
        .find(|(known, resource, known_part, _)| *known == group && *resource == plural && *known_part == part)
        .map(|(.., review)| *review)
}

/// The review with its answer in `status`.
///
/// # Errors
/// 422 for a question that asks nothing or too much, 404 for a token of an account that is not there.
pub(crate) fn answer(front: &Front, question: Question<'_>) -> Result<Value, Status> {
    let spec = question.body.get("spec").cloned().unwrap_or_else(|| json!({}));
    let (spec, status) = match question.review {
        Review::SelfAccess => {
            let status = access(front, &question, &question.asker.user, &spec)?;
            (spec, status)
        }
        Review::Access => {
            let status = access(front, &question, &subject(&question, &spec)?, &spec)?;
            (spec, status)
        }
        Review::LocalAccess => {
            let asked = spec.at("resourceAttributes").text("namespace");
            if asked != question.namespace {
                let cause = Cause::invalid("spec.resourceAttributes.namespace", &json!(asked), "must match metadata.namespace");
                return Err(invalid(&question, cause));
            }
            let status = access(front, &question, &subject(&question, &spec)?, &spec)?;
            (spec, status)
        }
        Review::SelfRules => {
            let status = rules(front, &question, &spec)?;
            (json!({}), status)
        }
        Review::Token => {
            let status = token(front, &question, &spec)?;
            (spec, status)
        }
        Review::SelfUser => (Value::Null, json!({"userInfo": question.asker.to_json()})),
        Review::TokenRequest => token_request(front, &question, &spec)?,
    };
    let mut metadata = question.body.get("metadata").filter(|metadata| metadata.is_object()).cloned().unwrap_or_else(|| json!({}));
    if let (Review::TokenRequest, Some(metadata)) = (question.review, metadata.as_object_mut()) {
        metadata.insert("name".to_owned(), json!(question.name));
        metadata.insert("namespace".to_owned(), json!(question.namespace));
        metadata.insert("creationTimestamp".to_owned(), json!(time(front.now())));
    }
    let mut answer = json!({"kind": question.kind, "apiVersion": question.api_version, "metadata": metadata, "status": status});
    if let (false, Some(answer)) = (spec.is_null(), answer.as_object_mut()) {
        answer.insert("spec".to_owned(), spec);
    }
    Ok(answer)
}

/// Whether a user may do what the spec says.
fn access<'q>(front: &Front, question: &Question<'_>, user: &User, spec: &'q Value) -> Result<Value, Status> {
    let part = |name: &str| spec.get(name).filter(|part| part.is_object());
    let (resource, path) = (part("resourceAttributes"), part("nonResourceAttributes"));
    let field = |value: Option<&'q Value>, name: &str| value.map(|value| value.text(name)).unwrap_or_default();
    if resource.is_some() == path.is_some() {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        return Err(invalid(question, Cause::invalid("spec.resourceAttributes", &Value::Null, why)));
    }
    let asked = resource.or(path);
    let attributes = Attributes {
        verb: field(asked, "verb"),
        group: field(resource, "group"),
        resource: field(resource, "resource"),
        subresource: field(resource, "subresource"),
        namespace: field(resource, "namespace"),
        name: field(resource, "name"),
        path: field(path, "path"),
    };
    Ok(match front.authorizer.reason(user, attributes) {
        Some(reason) if reason.is_empty() => json!({"allowed": true}),
        Some(reason) => json!({"allowed": true, "reason": reason}),
        None => json!({"allowed": false}),
    })
}

/// About whom a review asks.
fn subject(question: &Question<'_>, spec: &Value) -> Result<User, Status> {
    let groups = spec.texts("groups").map(str::to_owned).collect();
    let user = User { name: spec.text("user").to_owned(), uid: spec.text("uid").to_owned(), groups };
    if user.name.is_empty() && user.groups.is_empty() {
        return Err(invalid(question, Cause::invalid("spec.user", &json!(""), "at least one of user or group must be specified")));
    }
    Ok(user)
}

fn rules(front: &Front, question: &Question<'_>, spec: &Value) -> Result<Value, Status> {
    let namespace = spec.text("namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let (mut resource, mut other) = (Vec::new(), Vec::new());
    match front.authorizer.policy(&question.asker.user) {
        None => {
            resource.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
            other.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
        }
        Some(policy) => {
            for rule in policy.rules_of(&question.asker.user, namespace) {
                let list = if rule.non_resource_urls.is_empty() { &mut resource } else { &mut other };
                list.push(json!(rule));
            }
        }
    }
    Ok(json!({"resourceRules": resource, "nonResourceRules": other, "incomplete": false}))
}

fn token(front: &Front, question: &Question<'_>, spec: &Value) -> Result<Value, Status> {
    let token = spec.text("token");
    if token.is_empty() {
        return Err(Status::bad_request(format!("token is required for {} in authentication", question.kind)));
    }
    Ok(match front.authenticator.of_token(token, &front.api, front.now()) {
        Some(identity) => json!({"authenticated": true, "user": identity.to_json(), "audiences": [ISSUER]}),
        None => json!({"user": {}, "error": "invalid bearer token"}),
    })
}

/// A new token of a service account: spec with its defaults, and status.
fn token_request(front: &Front, question: &Question<'_>, spec: &Value) -> Result<(Value, Value), Status> {
    let account = account::find(&front.api, question.namespace, question.name)
        .ok_or_else(|| Status::not_found(About { group: "", kind: "serviceaccounts" }, question.name))?;
    let seconds = spec.get("expirationSeconds").and_then(Value::as_i64).unwrap_or(USUAL);
    let field = "spec.expirationSeconds";
    if seconds < SHORTEST {
        return Err(invalid(question, Cause::invalid(field, &json!(seconds), "may not specify a duration less than 10 minutes")));
    }
    if seconds > LONGEST {
        return Err(invalid(question, Cause::invalid(field, &json!(seconds), "may not specify a duration larger than 2^32 seconds")));
    }
    let mut audiences: Vec<String> =
        spec.get("audiences").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    if audiences.is_empty() {
        audiences.push(ISSUER.to_owned());
    }
    let now = front.now();
    let expires = now.saturating_add(seconds);
    let id = random::uuid();
    let claims =
        Claims { namespace: question.namespace, name: question.name, uid: &account.uid, audiences: &audiences, now, expires, id: &id };
    let token = front.authenticator.accounts().mint(claims);
    let bound = spec.get("boundObjectRef").cloned().unwrap_or(Value::Null);
    let spec = json!({"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound});
    Ok((spec, json!({"token": token, "expirationTimestamp": time(expires)})))
}

fn invalid(question: &Question<'_>, cause: Cause) -> Status {
    let group = question.api_version.split_once('/').map_or("", |(group, _)| group);
    Status::invalid(About { group, kind: question.kind }, "", &[cause])
}

fn time(seconds: i64) -> String {
    time_text(jiff::Timestamp::from_second(seconds).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Review, find};

    #[test]
    fn knows_what_is_a_question() {
        for (group, plural, part, want) in [
            ("authorization.k8s.io", "subjectaccessreviews", None, Some(Review::Access)),
            ("authentication.k8s.io", "selfsubjectreviews", None, Some(Review::SelfUser)),
            ("", "serviceaccounts", Some("token"), Some(Review::TokenRequest)),
            ("", "serviceaccounts", None, None),
            ("", "subjectaccessreviews", None, None),
            ("authorization.k8s.io", "subjectaccessreviews", Some("status"), None),
        ] {
            assert_eq!(find(group, plural, part), want, "{group} {plural} {part:?}");
        }
    }
}
