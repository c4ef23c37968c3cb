//! The way of a machine to the server: it can be slow, be cut, and lead nowhere for a while.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Passes on what comes in on a port of its own.
pub struct RoughWay {
    pub port: u16,
    state: Arc<WayState>,
}

struct WayState {
    server: AtomicU16,
    /// Milliseconds that everything waits.
    delay: AtomicU64,
    /// Takes connections and lets nothing through.
    is_shut: AtomicBool,
    /// Bytes that were passed on.
    passed: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

impl RoughWay {
    /// A way that is good as yet.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let state = Arc::new(WayState {
            server: server.into(),
            delay: 0.into(),
            is_shut: false.into(),
            passed: 0.into(),
            open: Mutex::new(Vec::new()),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for here in listener.incoming().map_while(Result::ok) {
                let Ok(there) =
                    TcpStream::connect(("127.0.0.1", shared.server.load(Ordering::SeqCst)))
                else {
                    continue;
                };
                for (from, to) in [(&here, &there), (&there, &here)] {
                    let _ = from.set_nodelay(true);
                    let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else {
                        continue;
                    };
                    let state = Arc::clone(&shared);
                    thread::spawn(move || pass(from, to, &state));
                }
                let mut open = shared.open.lock().expect("no thread panics with it");
                open.retain(|stream| stream.peer_addr().is_ok());
                open.extend([here, there]);
            }
        });
        RoughWay { port, state }
    }

    /// Where new connections go.
    pub fn lead_to(&self, server: u16) {
        self.state.server.store(server, Ordering::SeqCst);
    }

    /// Everything takes so much longer.
    pub fn delay_by(&self, time: Duration) {
        self.state.delay.store(
            u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            Ordering::SeqCst,
        );
    }

    /// Lets nothing through, or everything again. Nothing that was sent is lost, it only waits.
    pub fn shut(&self, shut: bool) {
        self.state.is_shut.store(shut, Ordering::SeqCst);
    }

    /// How many bytes were passed on so far.
    pub fn passed(&self) -> u64 {
        self.state.passed.load(Ordering::SeqCst)
    }

    /// Ends all connections in the middle of whatever they carry.
    pub fn cut(&self) {
        for stream in self
            .state
            .open
            .lock()
            .expect("no thread panics with it")
            .drain(..)
        {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, state: &WayState) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(read) = from.read(&mut bytes) {
        thread::sleep(Duration::from_millis(state.delay.load(Ordering::SeqCst)));
        while state.is_shut.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(20));
        }
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            break;
        }
        state.passed.fetch_add(read as u64, Ordering::SeqCst);
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
