//! An HTTP server on the loopback interface that answers by a script and keeps what came: the receiver of notifications.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::wait_until;

/// What the receiver does with a request.
#[derive(Clone, Copy)]
pub enum Reply {
    Status(u16),
    /// Answers with a body of its own.
    Says(u16, &'static str),
    /// Says nothing until the other side gives up.
    Hang,
}

/// One request that came.
#[derive(Clone)]
pub struct Got {
    /// Its first line and its headers.
    pub head: String,
    /// Its body.
    pub text: String,
    /// The same as JSON; null where it is none.
    pub body: Value,
}

/// A real HTTP server on the loopback interface that answers by a script; its last reply is repeated.
pub struct Receiver {
    /// Where it listens.
    pub port: u16,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Receiver {
    pub fn start(script: &[Reply]) -> Self {
        Receiver::on(
            TcpListener::bind("127.0.0.1:0").expect("a free port"),
            script,
        )
    }

    pub fn on(listener: TcpListener, script: &[Reply]) -> Self {
        let port = listener.local_addr().expect("it is bound").port();
        let got = Arc::new(Mutex::new(Vec::new()));
        let (seen, script) = (Arc::clone(&got), script.to_vec());
        std::thread::spawn(move || {
            for (n, stream) in listener.incoming().enumerate() {
                let reply = script
                    .get(n)
                    .or(script.last())
                    .copied()
                    .expect("a script has replies");
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || {
                    answer(stream.expect("the loopback interface works"), reply, &seen)
                });
            }
        });
        Receiver { port, got }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    pub fn got(&self) -> Vec<Got> {
        self.got.lock().expect("mutex poisoned").clone()
    }

    #[track_caller]
    pub fn wait_for(&self, count: usize) -> Vec<Got> {
        wait_until(
            &format!("{count} requests came"),
            Duration::from_secs(60),
            || self.got().len() >= count,
        );
        self.got()
    }
}

fn answer(mut stream: TcpStream, reply: Reply, seen: &Mutex<Vec<Got>>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length is a number");
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    // A greeting of TLS is no request.
    if !head.starts_with("POST ") {
        return;
    }
    let text = String::from_utf8(body).expect("a body is UTF-8");
    seen.lock().expect("mutex poisoned").push(Got {
        head,
        body: serde_json::from_str(&text).unwrap_or_default(),
        text,
    });
    match reply {
        Reply::Status(code) => say(&mut stream, code, ""),
        Reply::Says(code, text) => say(&mut stream, code, text),
        Reply::Hang => {
            let _ = reader.read(&mut [0]);
        }
    }
}

fn say(stream: &mut TcpStream, code: u16, text: &str) {
    let _ = write!(
        stream,
        "HTTP/1.1 {code} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
}
