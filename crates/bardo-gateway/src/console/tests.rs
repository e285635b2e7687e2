use bardo_types::secret::Secret;
use http::HeaderMap;
use http::header::{COOKIE, HOST, HeaderValue, ORIGIN};
use sha2::{Digest as _, Sha256};

use super::guard::Guard;
use super::session::{ConsoleSessions, SessionAccess, next_page, set_cookie};
use super::visit::FormFields;

const HOUR_MS: u64 = 3_600_000;
const README: &str = include_str!("../../../bardo-console/assets/README.md");

fn sessions() -> ConsoleSessions {
    let secret = |text: &str| Secret::new(text.to_owned());
    ConsoleSessions::new(secret("admin"), secret("reader"))
}

fn carrying(id: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let cookie = format!("other=1; bardo_console={id}");
    headers.insert(COOKIE, cookie.parse().unwrap());
    headers
}

fn headers(pairs: &[(http::header::HeaderName, &'static str)]) -> HeaderMap {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
        .collect()
}

#[test]
fn a_session_ends_when_it_is_old_idle_or_left() {
    let sessions = sessions();
    let id = sessions.begin(SessionAccess::Change, 0).unwrap();
    assert!(sessions.of(&carrying(&id), HOUR_MS).is_some());
    assert!(sessions.of(&carrying(&id), 2 * HOUR_MS).is_some());
    assert!(sessions.of(&carrying(&id), 4 * HOUR_MS).is_none(), "idle");
    let id = sessions.begin(SessionAccess::Change, 0).unwrap();
    for hour in 1..12 {
        assert!(sessions.of(&carrying(&id), hour * HOUR_MS).is_some());
    }
    assert!(sessions.of(&carrying(&id), 12 * HOUR_MS).is_none(), "old");
    let id = sessions.begin(SessionAccess::Change, 0).unwrap();
    sessions.end(&carrying(&id));
    assert!(sessions.of(&carrying(&id), 0).is_none(), "left");
    assert!(sessions.of(&carrying("guess"), 0).is_none());
    assert!(sessions.of(&HeaderMap::new(), 0).is_none());
}

#[test]
fn there_are_at_most_64_sessions_and_the_one_unused_for_longest_ends() {
    let sessions = sessions();
    let first = sessions.begin(SessionAccess::Change, 0).unwrap();
    let second = sessions.begin(SessionAccess::Change, 0).unwrap();
    for at in 1..=62 {
        sessions.begin(SessionAccess::Change, at).unwrap();
    }
    assert!(sessions.of(&carrying(&first), 100).is_some());
    sessions.begin(SessionAccess::Change, 101).unwrap();
    assert!(sessions.of(&carrying(&first), 102).is_some());
    assert!(sessions.of(&carrying(&second), 102).is_none());
}

#[test]
fn a_token_opens_what_it_is_for_and_each_session_has_a_form_token_of_its_own() {
    let sessions = sessions();
    let access = |text: &str| sessions.access_of(&Secret::new(text.to_owned()));
    assert_eq!(access("admin"), Some(SessionAccess::Change));
    assert_eq!(access("reader"), Some(SessionAccess::Read));
    assert_eq!(access(""), None);
    assert_eq!(access("admi"), None);
    let [one, two] = [SessionAccess::Read, SessionAccess::Change].map(|access| {
        let id = sessions.begin(access, 0).unwrap();
        sessions.of(&carrying(&id), 0).unwrap()
    });
    assert!(one.takes(&one.csrf) && !one.takes(&two.csrf) && !one.takes(""));
    let open = ConsoleSessions::new(Secret::new(String::new()), Secret::new(String::new()));
    assert_eq!(open.access_of(&Secret::new(String::new())), None);
    assert!(open.of(&HeaderMap::new(), 0).is_some());
}

#[test]
fn the_cookie_is_for_the_console_alone_and_for_no_script() {
    let cookie = set_cookie("id");
    for part in [
        "bardo_console=id",
        "Path=/console",
        "HttpOnly",
        "SameSite=Strict",
        "Max-Age=43200",
    ] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(set_cookie("").contains("Max-Age=0"));
}

#[test]
fn a_login_leads_to_pages_of_the_console_alone() {
    for path in ["/console/keys?q=a", "/console/requests/req_1"] {
        assert_eq!(next_page(Some(path)), path);
    }
    for path in [
        "https://evil.example/console/",
        "//evil.example",
        "/console//evil.example",
        "/console/\\evil.example",
        "/console/\r\nlocation: x",
        "/admin/keys",
        "/console/login?next=/console/",
        "javascript:alert(1)",
        "",
    ] {
        assert_eq!(next_page(Some(path)), "/console/", "{path}");
    }
    assert_eq!(next_page(None), "/console/");
}

#[test]
fn a_post_of_another_site_is_refused() {
    let site = http::header::HeaderName::from_static("sec-fetch-site");
    let refused = |pairs: &[(http::header::HeaderName, &'static str)]| {
        Guard.cross_site(&headers(pairs)).is_some()
    };
    let here = (HOST, "127.0.0.1:8403");
    assert!(!refused(std::slice::from_ref(&here)));
    assert!(!refused(&[here.clone(), (ORIGIN, "http://127.0.0.1:8403")]));
    for origin in ["http://evil.example", "http://127.0.0.1:9999", "null", ""] {
        let origin: &'static str = origin;
        assert!(refused(&[here.clone(), (ORIGIN, origin)]), "{origin}");
    }
    assert!(refused(&[here.clone(), (site.clone(), "cross-site")]));
    assert!(refused(&[here, (site, "same-site")]));
}

#[test]
fn an_open_console_answers_to_names_of_this_machine_alone() {
    let foreign = |host, is_open| Guard.foreign(&headers(&[(HOST, host)]), is_open).is_some();
    assert!(!foreign("localhost:8403", true));
    assert!(!foreign("127.0.0.1:8403", true));
    assert!(foreign("rebound.example:8403", true));
    assert!(!foreign("gateway.internal:8403", false));
    let mut twice = headers(&[(HOST, "localhost")]);
    twice.append(HOST, HeaderValue::from_static("rebound.example"));
    assert!(Guard.foreign(&twice, true).is_some());
}

#[test]
fn forms_are_decoded_once() {
    let form = FormFields::read(b"name=a+b%20c&empty=&script=%3Cscript%3E&scope=1&scope=2");
    assert_eq!(form.get("name"), Some("a b c"));
    assert_eq!(form.get("empty"), None);
    assert_eq!(form.get("script"), Some("<script>"));
    assert_eq!(form.get("scope"), Some("1"));
}

#[test]
fn the_files_of_other_projects_are_the_ones_that_are_listed() {
    let mut seen = 0;
    for asset in bardo_console::assets::ALL {
        let row = format!("| `{}` |", asset.name);
        let Some(line) = README.lines().find(|line| line.starts_with(&row)) else {
            continue;
        };
        let digest = Sha256::digest(asset.bytes);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(line.contains(&digest), "{}: {digest}", asset.name);
        seen += 1;
    }
    assert_eq!(seen, 3);
}
