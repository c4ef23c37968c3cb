//! A model on the loopback interface that only talks, by the APIs of agents beside Claude Code: OpenAI's Responses and Chat Completions
//! and Gemini's. What it answers is a function of the newest words that it is given.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// By the Responses API such an answer runs the rest as a script of Codex, which calls tools, by Chat Completions in a shell.
pub const SCRIPT: &str = "exec: ";

/// What the model says, given the whole request.
type Answering = Box<dyn Fn(&Value) -> String + Send + Sync>;

/// The server. It stops when dropped.
pub struct ScriptedModel {
    port: u16,
    stopped: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl ScriptedModel {
    /// Starts to listen on a free port.
    pub fn answering(answer: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        let listener =
            TcpListener::bind(("127.0.0.1", 0)).expect("the loopback interface has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let (stopped, asked) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(Mutex::new(Vec::new())),
        );
        let (ends, log, answer): (_, _, Arc<Answering>) = (
            Arc::clone(&stopped),
            Arc::clone(&asked),
            Arc::new(Box::new(answer)),
        );
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                // A client that was killed in mid-sentence is nothing to report.
                std::thread::spawn(move || drop(serve(stream, &log, &answer)));
            }
        });
        ScriptedModel {
            port,
            stopped,
            asked,
        }
    }

    /// Its address, without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it was asked so far, but for titles of conversations.
    pub fn asked(&self) -> Vec<Value> {
        self.asked
            .lock()
            .expect("no panic while it was held")
            .iter()
            .filter(|body| !is_title(body))
            .cloned()
            .collect()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts, so that it sees the flag.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// opencode asks for a title first.
fn is_title(body: &Value) -> bool {
    body.to_string().contains("title generator")
}

/// One request on each connection, for simplicity.
fn serve(stream: TcpStream, log: &Mutex<Vec<Value>>, answer: &Answering) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut out = stream;
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let path = first
        .split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .split('?')
        .next()
        .unwrap_or_default()
        .to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim_end().is_empty() {
            break;
        }
        if let Some((_, value)) = line
            .split_once(':')
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let text = if is_title(&body) {
        "A title".to_owned()
    } else {
        answer(&body)
    };
    let events = match path.rsplit('/').next().unwrap_or_default() {
        "responses" => responses(&text),
        "completions" => chat(&text),
        name if name.ends_with("enerateContent") => gemini(&text),
        _ => {
            return out
                .write_all(b"HTTP/1.1 404 no\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
        }
    };
    log.lock().expect("no panic while it was held").push(body);
    write!(
        out,
        "HTTP/1.1 200 scripted\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}"
    )?;
    out.flush()
}

fn event(data: &Value) -> String {
    let name = data["type"]
        .as_str()
        .map(|name| format!("event: {name}\n"))
        .unwrap_or_default();
    format!("{name}data: {data}\n\n")
}

fn responses(text: &str) -> String {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    let item = match text.strip_prefix(SCRIPT) {
        Some(script) => {
            json!({"id": "ctc_1", "type": "custom_tool_call", "call_id": "c", "name": "exec", "input": script, "status": "completed"})
        }
        None => {
            json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content})
        }
    };
    let answer = json!({"id": "resp_1", "object": "response", "created_at": 0, "model": "scripted", "status": "in_progress", "output": []});
    let mut done = answer.clone();
    done["status"] = "completed".into();
    done["output"] = json!([item]);
    done["usage"] = json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20,
                           "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120});
    [
        json!({"type": "response.created", "response": answer}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": done}),
    ]
    .iter()
    .map(event)
    .collect()
}

fn chat(text: &str) -> String {
    let chunk = |delta: Value, reason: Value| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "scripted",
               "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
    let last = json!({"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": [], "usage": usage});
    let (delta, reason) = match text.strip_prefix(SCRIPT) {
        Some(line) => {
            let arguments = json!({"command": line, "description": "runs it"}).to_string();
            let call = json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "bash", "arguments": arguments}});
            (
                json!({"role": "assistant", "tool_calls": [call]}),
                "tool_calls",
            )
        }
        None => (json!({"role": "assistant", "content": text}), "stop"),
    };
    let chunks = [
        chunk(delta, Value::Null),
        chunk(json!({}), reason.into()),
        last,
    ];
    chunks.iter().map(event).collect::<String>() + "data: [DONE]\n\n"
}

fn gemini(text: &str) -> String {
    event(
        &json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, "finishReason": "STOP"}],
                  "modelVersion": "scripted", "responseId": "r",
                  "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}}),
    )
}
