//! A model API on the loopback interface that answers by a script and remembers what it was raw.
//!
//! Threads and `httparse` instead of a library for servers: its clients are the few agents of one scene, on this machine, and every
//! maintained server would bring an event loop of the network, which nothing else here has.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::api_reply::{ReplyInputs, http_reply, other_reply};
use super::api_script::ApiScript;
use super::http_reply::{HttpBody, HttpReply};
use super::model_request::ModelRequest;
use watchdog_agent::local_api::ShellTool;

/// Bytes of the head of a request.
const LONGEST_HEAD: usize = 64 << 10;
/// Bytes of a body. A long history with every tool described has some hundred kilobytes.
const LONGEST_BODY: usize = 64 << 20;
/// Headers of a request.
const MOST_HEADERS: usize = 100;

/// The server; dropped, it answers nobody any more.
#[derive(Debug)]
pub struct ScriptedApi {
    shared: Arc<ServerState>,
    address: SocketAddr,
}

#[derive(Debug)]
struct ServerState {
    shell_tool: ShellTool,
    talk: Mutex<ScriptedTalk>,
    stopping: Condvar,
}

#[derive(Debug, Default)]
struct ScriptedTalk {
    script: ApiScript,
    requests: Vec<ModelRequest>,
    stopped: bool,
}

impl ScriptedApi {
    /// Begins to answer on a port that the system chooses.
    ///
    /// # Errors
    /// Where no port or thread can be had.
    pub fn start(script: ApiScript, shell_tool: ShellTool) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let talk = Mutex::new(ScriptedTalk {
            script,
            ..ScriptedTalk::default()
        });
        let shared = Arc::new(ServerState {
            shell_tool,
            talk,
            stopping: Condvar::new(),
        });
        let state = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("model api".into())
            .spawn(move || {
                for stream in listener.incoming() {
                    if state.lock().stopped {
                        return;
                    }
                    let Ok(stream) = stream else { continue };
                    let state = Arc::clone(&state);
                    // Without a thread the connection closes, and the agent tries again.
                    let _ = std::thread::Builder::new()
                        .name("model api connection".into())
                        .spawn(move || state.serve(stream));
                }
            })?;
        Ok(ScriptedApi { shared, address })
    }

    /// Its address, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests for an answer so far, in order.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared.lock().requests.clone()
    }
}

impl Drop for ScriptedApi {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.stopping.notify_all();
        // Wakes the thread that accepts, so that it sees the flag.
        let _ = TcpStream::connect(self.address);
    }
}

impl ServerState {
    fn lock(&self) -> MutexGuard<'_, ScriptedTalk> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the requests of one connection until it closes.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut out = stream;
        while let Some(raw) = read_request(&mut reader)? {
            let body: Value = serde_json::from_slice(&raw.body).unwrap_or(Value::Null);
            let request = (raw.method == "POST")
                .then(|| ModelRequest::read(&raw.path, &body))
                .flatten();
            let reply = match request {
                Some(request) => self.answer(request)?,
                None => other_reply(&raw.method, &raw.path, raw.body.len()),
            };
            if self.lock().stopped {
                return out.shutdown(Shutdown::Both);
            }
            send(&mut out, &reply, raw.method == "HEAD")?;
        }
        Ok(())
    }

    fn answer(&self, request: ModelRequest) -> io::Result<HttpReply> {
        let (rule, number) = {
            let mut talk = self.lock();
            let rule = talk.script.take(&request);
            talk.requests.push(request.clone());
            (rule, talk.requests.len())
        };
        self.hold(rule.delay)?;
        let inputs = ReplyInputs {
            request: &request,
            shell_tool: &self.shell_tool,
            number,
            now: Timestamp::now().as_second(),
        };
        Ok(http_reply(&rule.reply, inputs))
    }

    /// Holds a reply back, but not beyond the life of the server.
    fn hold(&self, time: Duration) -> io::Result<()> {
        let waited = self
            .stopping
            .wait_timeout_while(self.lock(), time, |talk| !talk.stopped);
        let (talk, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if talk.stopped {
            Err(io::ErrorKind::Interrupted.into())
        } else {
            Ok(())
        }
    }
}

struct RawRequest {
    method: String,
    path: String,
    body: Vec<u8>,
}

/// Reads one request; `None` when the client has closed.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<RawRequest>> {
    let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut head = Vec::new();
    loop {
        let before = head.len();
        if reader
            .by_ref()
            .take(LONGEST_HEAD as u64)
            .read_until(b'\n', &mut head)?
            == 0
        {
            return Ok(None);
        }
        if head.len() > LONGEST_HEAD {
            return Err(bad("a head that is too long"));
        }
        if matches!(&head[before..], b"\r\n" | b"\n") {
            break;
        }
    }
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    if !parsed.parse(&head).is_ok_and(|status| status.is_complete()) {
        return Err(bad("no request of HTTP/1"));
    }
    let header = |name: &str| {
        let found = parsed
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| {
            String::from_utf8_lossy(header.value)
                .trim()
                .to_ascii_lowercase()
        })
    };
    let body = if header("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        chunked_body(reader)?
    } else {
        let length = header("content-length").map_or(Ok(0), |length| {
            length
                .parse()
                .map_err(|_| bad("a length that is no number"))
        })?;
        exactly(reader, length)?
    };
    Ok(Some(RawRequest {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: parsed.path.unwrap_or_default().to_owned(),
        body,
    }))
}

fn exactly(reader: &mut impl BufRead, length: usize) -> io::Result<Vec<u8>> {
    if length > LONGEST_BODY {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a body that is too long",
        ));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn chunked_body(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader
            .by_ref()
            .take(LONGEST_HEAD as u64)
            .read_line(&mut line)?;
        let size = line.trim().split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size, 16)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a chunk without a size"))?;
        body.extend(exactly(
            reader,
            size.min(LONGEST_BODY.saturating_sub(body.len()).saturating_add(1)),
        )?);
        let mut end = String::new();
        reader
            .by_ref()
            .take(LONGEST_HEAD as u64)
            .read_line(&mut end)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn send(out: &mut TcpStream, reply: &HttpReply, head_only: bool) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match &reply.body {
        HttpBody::Json(body) => {
            head.push_str(&format!(
                "content-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            ));
            out.write_all(head.as_bytes())?;
            if !head_only {
                out.write_all(body.as_bytes())?;
            }
        }
        HttpBody::Events(events) => {
            head.push_str("content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
            out.write_all(head.as_bytes())?;
            for event in events {
                let text = event.text();
                write!(out, "{:x}\r\n{text}\r\n", text.len())?;
                out.flush()?;
            }
            out.write_all(b"0\r\n\r\n")?;
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_script::{ScriptRule, ScriptedReply};

    fn exchange(api: &ScriptedApi, request: &str) -> String {
        let mut stream = TcpStream::connect(api.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn requests_of_either_framing_are_answered_and_remembered() {
        let shell_tool = ShellTool {
            name: "sh".into(),
            command: "cmd".into(),
            with: serde_json::Map::new(),
        };
        let rules = [ScriptRule::new(ScriptedReply::Text("hello".into()))
            .when("greet")
            .always()];
        let api = ScriptedApi::start(ApiScript::new(rules), shell_tool).unwrap();
        let body = r#"{"model":"m","messages":[{"role":"user","content":"greet"}]}"#;
        let whole = format!(
            "POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let (first, second) = body.split_at(10);
        let chunked = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
            first.len(),
            second.len()
        );
        for request in [whole, chunked] {
            let answer = exchange(&api, &request);
            assert!(
                answer.starts_with("HTTP/1.1 200") && answer.contains("hello"),
                "{answer}"
            );
        }
        assert!(exchange(&api, "GET /nothing HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert_eq!(exchange(&api, "this is no request\r\n\r\n"), "");
        assert_eq!(
            api.requests()
                .iter()
                .map(|request| request.newest.as_str())
                .collect::<Vec<_>>(),
            ["greet", "greet"]
        );
    }
}
