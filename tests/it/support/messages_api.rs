//! A scripted Messages API on the loopback interface, for the real `claude` to talk to. It answers by [`Rule`]s and
//! remembers what it was asked.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::api_rules::{self, Answer, Rule};

/// The server. It stops when dropped.
pub struct MessagesApi {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Told when the server stops, so that an answer that is held back ends too.
    stopping: Condvar,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    requests: Vec<Request>,
    stopped: bool,
}

/// One request, as it came.
#[derive(Debug, Clone)]
pub struct Request {
    /// Such as `POST`.
    pub method: String,
    /// Without the query.
    pub path: String,
    /// The JSON body; null where there was none.
    pub body: Value,
    /// Which rule answered it, counted from 0; `None` for the default reply and for other paths.
    pub rule: Option<usize>,
}

impl Request {
    /// The text of the last user message.
    pub fn last_user(&self) -> String {
        api_rules::last_user_text(&self.body)
    }

    /// The names of the tools that it offers.
    pub fn tools(&self) -> Vec<&str> {
        api_rules::offered_tools(&self.body)
    }

    /// Holds where the agent is offered nothing to do harm with. The placeholder stands for tools that the CLI would load on demand, and
    /// does nothing.
    pub fn assert_harmless(&self) {
        let mut offered = self.tools();
        offered.retain(|name| *name != "DeferredToolPlaceholder");
        assert_eq!(offered, ["StructuredOutput"]);
    }

    /// Whether a text stands anywhere in it.
    pub fn mentions(&self, text: &str) -> bool {
        self.body.to_string().contains(text)
    }
}

impl MessagesApi {
    /// Starts to listen on a free port. With no rule that applies, the reply is `ok (default reply)`.
    pub fn start(rules: impl IntoIterator<Item = Rule>) -> Self {
        let listener =
            TcpListener::bind(("127.0.0.1", 0)).expect("the loopback interface has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let state = State {
            rules: rules.into_iter().collect(),
            ..State::default()
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            stopping: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if accepting.lock().stopped {
                    return;
                }
                let shared = Arc::clone(&accepting);
                // A client that was killed in mid-sentence is nothing to report.
                std::thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        MessagesApi { port, shared }
    }

    /// What goes into `ANTHROPIC_BASE_URL`.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything that was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// The requests for a message, in order.
    pub fn messages(&self) -> Vec<Request> {
        self.requests()
            .into_iter()
            .filter(|request| request.path == "/v1/messages")
            .collect()
    }
}

impl Drop for MessagesApi {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.stopping.notify_all();
        // Wakes the thread that accepts, so that it sees the flag.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds an answer back, but not beyond the life of the server.
    fn hold(&self, time: Duration) -> io::Result<()> {
        let (state, _) = self
            .stopping
            .wait_timeout_while(self.lock(), time, |state| !state.stopped)
            .unwrap_or_else(PoisonError::into_inner);
        if state.stopped {
            Err(io::ErrorKind::Interrupted.into())
        } else {
            Ok(())
        }
    }

    /// Answers the requests of one connection until it closes.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut out = stream;
        while let Some(mut request) = read_request(&mut reader)? {
            let (number, rule) = {
                let mut state = self.lock();
                let mut rule = Rule::text("ok (default reply)");
                if request.method == "POST" && request.path == "/v1/messages" {
                    let found = state
                        .rules
                        .iter_mut()
                        .position(|rule| rule.take(&request.body));
                    request.rule = found;
                    if let Some(found) = found {
                        rule = state.rules[found].clone();
                    }
                }
                state.requests.push(request.clone());
                (state.requests.len(), rule)
            };
            let head = request.method == "HEAD";
            match (request.method.as_str(), request.path.as_str()) {
                ("POST", "/v1/messages") => {
                    self.hold(rule.delay)?;
                    if matches!(rule.answer, Answer::Close) {
                        return out.shutdown(Shutdown::Both);
                    }
                    self.answer(&mut out, &rule, &request.body, number)?;
                }
                ("POST", "/v1/messages/count_tokens") => {
                    let tokens = (request.body.to_string().len() / 4).max(1);
                    send(
                        &mut out,
                        200,
                        &[],
                        &json!({"input_tokens": tokens}).to_string(),
                        head,
                    )?;
                }
                ("HEAD", _) | (_, "/") => send(&mut out, 200, &[], "{}", head)?,
                (_, path) => {
                    let error = json!({"type": "error", "error": {"type": "not_found_error", "message": path}});
                    send(&mut out, 404, &[], &error.to_string(), head)?;
                }
            }
        }
        Ok(())
    }

    fn answer(
        &self,
        out: &mut TcpStream,
        rule: &Rule,
        body: &Value,
        number: usize,
    ) -> io::Result<()> {
        let blocks = match &rule.answer {
            Answer::Blocks(blocks) => blocks,
            Answer::Error {
                status,
                kind,
                message,
            } => {
                let error = json!({"type": "error", "error": {"type": kind, "message": message}});
                return send(out, *status, &rule.headers, &error.to_string(), false);
            }
            Answer::Raw { status, body } => return send(out, *status, &rule.headers, body, false),
            Answer::Close => return Ok(()),
        };
        let message = rule.message(blocks, body["model"].as_str().unwrap_or("scripted"), number);
        if body["stream"] != true {
            return send(out, 200, &rule.headers, &message.to_string(), false);
        }
        let mut head = head_lines(200, "text/event-stream", &rule.headers);
        head.push_str("transfer-encoding: chunked\r\n\r\n");
        out.write_all(head.as_bytes())?;
        for (name, data) in api_rules::stream_events(&message) {
            let event = format!("event: {name}\ndata: {data}\n\n");
            write!(out, "{:x}\r\n{event}\r\n", event.len())?;
            out.flush()?;
            if name == "content_block_start" && !rule.stall.is_zero() {
                self.hold(rule.stall)?;
            }
        }
        out.write_all(b"0\r\n\r\n")?;
        out.flush()
    }
}

/// Reads one request; `None` when the client has closed.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace();
    let method = words.next().unwrap_or_default().to_string();
    let target = words.next().unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default().to_string();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line
            .split_once(':')
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        {
            length = value
                .trim()
                .parse()
                .map_err(|_| io::Error::other(format!("{name}: {value}")))?;
        }
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Ok(Some(Request {
        method,
        path,
        body,
        rule: None,
    }))
}

fn head_lines(status: u16, kind: &str, headers: &[(String, String)]) -> String {
    let mut head = format!(
        "HTTP/1.1 {status} scripted\r\ncontent-type: {kind}\r\nrequest-id: req_scripted\r\n"
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

fn send(
    out: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &str,
    head_only: bool,
) -> io::Result<()> {
    let mut text = head_lines(status, "application/json", headers);
    text.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    if !head_only {
        text.push_str(body);
    }
    out.write_all(text.as_bytes())?;
    out.flush()
}
