//! A server for one page, `GET /metrics`: the smallest that Prometheus needs. Each connection has a thread of its own, a few at a time, and
//! seconds to be done, so that a slow client keeps nobody waiting and the watch does not notice it.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::wire::metrics_text::CONTENT_TYPE;

/// What a connection may take, from the first byte of the request to the last of the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of a request; a scraper's has some hundred.
const LONGEST_REQUEST: usize = 8 * 1024;

/// Headers of a request.
const MOST_HEADERS: usize = 64;

/// Connections at a time; a further one is told to come back.
const MOST_CONNECTIONS: usize = 16;

/// Makes the page; `Err` says why there is none.
pub type MetricsPage = Arc<dyn Fn() -> Result<String, String> + Send + Sync>;

/// Where the metrics are served, as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricsAddress(SocketAddr);

impl MetricsAddress {
    /// Whether others than this machine reach it.
    pub fn is_public(self) -> bool {
        !self.0.ip().is_loopback()
    }
}

impl fmt::Display for MetricsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Reads `9477`, `:9477` and `localhost:9477`, which are on this machine alone, or an address that is spelled out.
pub(super) fn metrics_address(text: &str) -> Result<MetricsAddress, String> {
    let port = text
        .strip_prefix("localhost:")
        .or_else(|| text.strip_prefix(':'))
        .unwrap_or(text);
    let local = port
        .parse()
        .ok()
        .map(|port: u16| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    local
        .or_else(|| text.parse().ok())
        .map(MetricsAddress)
        .ok_or_else(|| format!("'{text}' is no address; write a port such as 9477, or all of it: 192.0.2.1:9477 or [2001:db8::1]:9477"))
}

/// Begins to serve the page, until the process ends. Returns the address, with the port that the system chose for port 0.
///
/// # Errors
/// Where the address is taken or is not this machine's, or no thread can be had.
pub fn serve(address: MetricsAddress, page: MetricsPage) -> io::Result<MetricsAddress> {
    let listener = TcpListener::bind(address.0)?;
    let bound = listener.local_addr()?;
    let connections = Arc::new(AtomicUsize::new(0));
    std::thread::Builder::new()
        .name("metrics".into())
        .spawn(move || {
            loop {
                match listener.accept() {
                    Ok((stream, _)) => admit(stream, &connections, &page),
                    // Such as too many open files: there may be fewer soon.
                    Err(_) => std::thread::sleep(Duration::from_millis(100)),
                }
            }
        })?;
    Ok(MetricsAddress(bound))
}

/// Counts a connection for as long as it lives.
struct OpenConnection(Arc<AtomicUsize>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn admit(stream: TcpStream, connections: &Arc<AtomicUsize>, page: &MetricsPage) {
    let others = connections.fetch_add(1, Ordering::AcqRel);
    let open = OpenConnection(Arc::clone(connections));
    if others >= MOST_CONNECTIONS {
        // Whatever the buffer of the socket takes; nobody is waited for here.
        let _ = stream
            .set_nonblocking(true)
            .and_then(|()| (&stream).write_all(&HttpAnswer::busy().bytes()));
        return;
    }
    let page = Arc::clone(page);
    // Without a thread the connection closes; the next scrape may have one.
    let _ = std::thread::Builder::new()
        .name("metrics connection".into())
        .spawn(move || {
            let _open = open;
            let deadline = Instant::now() + PATIENCE;
            if let Some(answer) = answer_to(&stream, deadline, &page) {
                let _ = send(&stream, &answer.bytes(), deadline);
                let _ = drain(&stream);
            }
        });
}

/// The answer to one request; `None` where the client went away or took too long.
fn answer_to(mut stream: &TcpStream, deadline: Instant, page: &MetricsPage) -> Option<HttpAnswer> {
    let mut request = Vec::with_capacity(1024);
    loop {
        match parsed(&request) {
            ParsedRequest::Whole { method, path } => {
                return Some(HttpAnswer::to(&method, &path, page));
            }
            ParsedRequest::Bad => {
                return Some(HttpAnswer::plain(
                    "400 Bad Request",
                    "this is no request of HTTP/1\n",
                ));
            }
            ParsedRequest::Partial if request.len() >= LONGEST_REQUEST => {
                return Some(HttpAnswer::plain(
                    "431 Request Header Fields Too Large",
                    "the request is too long\n",
                ));
            }
            ParsedRequest::Partial => {}
        }
        let mut part = [0; 1024];
        stream.set_read_timeout(Some(left(deadline)?)).ok()?;
        match stream.read(&mut part) {
            Ok(0) => return None,
            Ok(read) => {
                request.extend_from_slice(&part[..read.min(LONGEST_REQUEST - request.len())])
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum ParsedRequest {
    Partial,
    Bad,
    Whole { method: String, path: String },
}

fn parsed(bytes: &[u8]) -> ParsedRequest {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match (request.parse(bytes), request.method, request.path) {
        (Ok(httparse::Status::Complete(_)), Some(method), Some(path)) => ParsedRequest::Whole {
            method: method.to_owned(),
            path: path.to_owned(),
        },
        (Ok(httparse::Status::Partial), ..) => ParsedRequest::Partial,
        _ => ParsedRequest::Bad,
    }
}

/// What is left until a moment; `None` where it is over.
fn left(deadline: Instant) -> Option<Duration> {
    deadline
        .checked_duration_since(Instant::now())
        .filter(|left| !left.is_zero())
}

/// Sends all of it before the deadline, however slowly it is taken.
fn send(mut stream: &TcpStream, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(deadline).ok_or(io::ErrorKind::TimedOut)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    stream.flush()
}

/// Ends our side, and takes what the client had sent beyond its request: to close with that unread would take the answer away from it.
fn drain(mut stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut rest = [0; 4096];
    for _ in 0..64 {
        if stream.read(&mut rest)? == 0 {
            break;
        }
    }
    Ok(())
}

struct HttpAnswer {
    status: &'static str,
    kind: &'static str,
    more: &'static str,
    body: String,
}

impl HttpAnswer {
    fn plain(status: &'static str, body: impl Into<String>) -> Self {
        HttpAnswer {
            status,
            kind: "text/plain; charset=utf-8",
            more: "",
            body: body.into(),
        }
    }

    fn busy() -> Self {
        HttpAnswer {
            more: "Retry-After: 1\r\n",
            ..Self::plain(
                "503 Service Unavailable",
                "too many connections at a time\n",
            )
        }
    }

    fn to(method: &str, path: &str, page: &MetricsPage) -> Self {
        if path.split('?').next() != Some("/metrics") {
            return Self::plain("404 Not Found", "there is /metrics, and nothing else\n");
        }
        if method != "GET" {
            return HttpAnswer {
                more: "Allow: GET\r\n",
                ..Self::plain("405 Method Not Allowed", "this page is read with GET\n")
            };
        }
        match page() {
            Ok(body) => HttpAnswer {
                kind: CONTENT_TYPE,
                ..Self::plain("200 OK", body)
            },
            Err(why) => Self::plain("500 Internal Server Error", format!("{why}\n")),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let HttpAnswer {
            status,
            kind,
            more,
            body,
        } = self;
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}Connection: close\r\n\r\n{body}")
            .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_of_this_machine_and_every_other_address_is_spelled_out() {
        for (text, address, public) in [
            ("9477", "127.0.0.1:9477", false),
            (":9477", "127.0.0.1:9477", false),
            ("localhost:9477", "127.0.0.1:9477", false),
            ("127.0.0.1:9477", "127.0.0.1:9477", false),
            ("[::1]:9477", "[::1]:9477", false),
            ("0", "127.0.0.1:0", false),
            ("0.0.0.0:9477", "0.0.0.0:9477", true),
            ("[::]:9477", "[::]:9477", true),
            ("192.0.2.1:80", "192.0.2.1:80", true),
        ] {
            let read = metrics_address(text).unwrap();
            assert_eq!(
                (read.to_string().as_str(), read.is_public()),
                (address, public),
                "{text}"
            );
        }
        for text in [
            "",
            "65536",
            "0.0.0.0",
            "::",
            "example.org:9477",
            "9477/metrics",
            "*:9477",
            "localhost",
        ] {
            assert!(
                metrics_address(text).unwrap_err().contains("9477"),
                "{text}"
            );
        }
    }

    #[test]
    fn one_page_is_read_with_get_and_nothing_else_is_there() {
        let page: MetricsPage = Arc::new(|| Ok("m 1\n".into()));
        let broken: MetricsPage = Arc::new(|| Err("no records".into()));
        for (method, path, page, status, body) in [
            ("GET", "/metrics", &page, "200 OK", "m 1\n"),
            ("GET", "/metrics?x=1", &page, "200 OK", "m 1\n"),
            (
                "POST",
                "/metrics",
                &page,
                "405 Method Not Allowed",
                "this page is read with GET\n",
            ),
            (
                "HEAD",
                "/metrics",
                &page,
                "405 Method Not Allowed",
                "this page is read with GET\n",
            ),
            (
                "GET",
                "/",
                &page,
                "404 Not Found",
                "there is /metrics, and nothing else\n",
            ),
            (
                "GET",
                "/metrics/../etc",
                &page,
                "404 Not Found",
                "there is /metrics, and nothing else\n",
            ),
            (
                "GET",
                "/metrics",
                &broken,
                "500 Internal Server Error",
                "no records\n",
            ),
        ] {
            let answer = HttpAnswer::to(method, path, page);
            assert_eq!(
                (answer.status, answer.body.as_str()),
                (status, body),
                "{method} {path}"
            );
            let text = String::from_utf8(answer.bytes()).unwrap();
            assert!(
                text.contains(&format!("Content-Length: {}\r\n", body.len()))
                    && text.ends_with(&format!("\r\n\r\n{body}")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_request_is_known_when_it_is_whole() {
        assert_eq!(
            parsed(b"GET /metrics HTTP/1.1\r\nHost: x\r\n"),
            ParsedRequest::Partial
        );
        assert_eq!(parsed(b"\x16\x03\x01 tls"), ParsedRequest::Bad);
        let whole = ParsedRequest::Whole {
            method: "GET".into(),
            path: "/metrics".into(),
        };
        assert_eq!(parsed(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), whole);
        let many: String = (0..200).map(|n| format!("A{n}: x\r\n")).collect();
        assert_eq!(
            parsed(format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes()),
            ParsedRequest::Bad
        );
    }
}
