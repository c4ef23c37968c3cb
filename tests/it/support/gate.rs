//! A way to a server that can be shut and opened again.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// The way to the server, which can be shut.
pub struct Gate {
    pub port: u16,
    is_shut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Gate {
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (is_shut, open) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(Mutex::new(Vec::new())),
        );
        thread::spawn({
            let (is_shut, open) = (Arc::clone(&is_shut), Arc::clone(&open));
            move || {
                for here in listener
                    .incoming()
                    .map_while(Result::ok)
                    .filter(|_| !is_shut.load(Ordering::SeqCst))
                {
                    let there = TcpStream::connect(("127.0.0.1", server)).expect("the server");
                    for (mut from, mut to) in [(&here, &there), (&there, &here)]
                        .map(|(a, b)| (a.try_clone().unwrap(), b.try_clone().unwrap()))
                    {
                        thread::spawn(move || {
                            io::copy(&mut from, &mut to).map(|_| to.shutdown(Shutdown::Both))
                        });
                    }
                    open.lock().unwrap().extend([here, there]);
                }
            }
        });
        Gate {
            port,
            is_shut,
            open,
        }
    }

    pub fn shut(&self) {
        self.is_shut.store(true, Ordering::SeqCst);
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn open(&self) {
        self.is_shut.store(false, Ordering::SeqCst);
    }
}
