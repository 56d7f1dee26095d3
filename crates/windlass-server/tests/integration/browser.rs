//! The page in a real browser: Chromium without a window, over the protocol of its developer tools.
//!
//! ```text
//!   this test ── JSON, each message ended by a zero byte ──► descriptor 3 of Chromium
//!             ◄────────────────────────────────────────────  descriptor 4
//! ```

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::access::Secrets;
use super::ui::served;

/// What happens in the page.
const SCRIPT: &str = include_str!("../browser/page.js");

/// A Chromium with one tab.
struct Chromium {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    sent: u64,
    session: String,
    /// What the page complained of.
    complaints: Vec<String>,
}

impl Chromium {
    fn start(profile: &Path) -> Self {
        let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
        // The shell gives it the two pipes under the numbers that it reads.
        let mut process = Command::new("sh")
            .args([
                "-c",
                "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
                &program,
            ])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut chromium = Self {
            process,
            to,
            from: BufReader::new(from),
            sent: 0,
            session: String::new(),
            complaints: Vec::new(),
        };
        let target = chromium.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = chromium.call("Target.attachToTarget", attach);
        chromium.session = session["sessionId"].as_str().unwrap().to_owned();
        chromium.call("Page.enable", json!({}));
        chromium.call("Runtime.enable", json!({}));
        chromium.call("Log.enable", json!({}));
        chromium
    }

    /// Calls a method, and waits for its result.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        loop {
            let answer = self.next();
            if answer["id"] == json!(self.sent) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn next(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(
            bytes.pop(),
            Some(0),
            "Chromium has ended; is it there, as $CHROMIUM or `chromium`?"
        );
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        let entry = &message["params"]["entry"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(message.to_string()),
            // A refused request is a line of the log as well.
            Some("Log.entryAdded") if entry["level"] == "error" && entry["source"] != "network" => {
                self.complaints.push(message.to_string());
            }
            _ => {}
        }
        message
    }

    fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        while self.next()["method"] != "Page.loadEventFired" {}
    }

    /// What a promise of the page resolves to.
    fn evaluate(&mut self, script: &str) -> Value {
        let params = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let result = self.call("Runtime.evaluate", params);
        let thrown = &result["exceptionDetails"]["exception"]["description"];
        assert!(thrown.is_null(), "{}", thrown.as_str().unwrap_or_default());
        result["result"]["value"].clone()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[ignore = "needs Chromium"]
fn the_page_works_in_chromium() {
    let secrets = Secrets::new();
    let server = served(secrets.access("127.0.0.1:5432", false));
    let profile = tempfile::tempdir().unwrap();
    let mut chromium = Chromium::start(profile.path());
    let url = format!("http://{}/", server.page.unwrap());
    for width in [1280, 700] {
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        chromium.call("Emulation.setDeviceMetricsOverride", metrics);
        chromium.open(&url);
        assert_eq!(chromium.evaluate(SCRIPT), json!("done"), "at {width} pixels");
    }
    assert_eq!(chromium.complaints, Vec::<String>::new());
}
