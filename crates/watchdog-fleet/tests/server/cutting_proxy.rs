//! A way to the server that can be cut: before a request arrives there, or before its answer comes back.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

/// Where the next connection that carries something is cut; once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CutPoint {
    /// Nowhere.
    Nowhere = 0,
    /// The server never sees the request.
    Request = 1,
    /// The server does it, and its answer is lost.
    Answer = 2,
}

/// Passes on what comes in on a port of its own.
pub struct CuttingProxy {
    pub port: u16,
    cut: Arc<AtomicU8>,
}

impl CuttingProxy {
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(AtomicU8::new(0));
        let shared = cut.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let upstream = TcpStream::connect(("127.0.0.1", server)).unwrap();
                client.set_nodelay(true).unwrap();
                upstream.set_nodelay(true).unwrap();
                for (from, to, point) in [
                    (&client, &upstream, CutPoint::Request),
                    (&upstream, &client, CutPoint::Answer),
                ] {
                    let (from, to, cut) = (
                        from.try_clone().unwrap(),
                        to.try_clone().unwrap(),
                        shared.clone(),
                    );
                    thread::spawn(move || pass(from, to, point, &cut));
                }
            }
        });
        CuttingProxy { port, cut }
    }

    /// The next request, or its answer, is cut off with its connection.
    pub fn cut_next(&self, point: CutPoint) {
        self.cut.store(point as u8, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, point: CutPoint, cut: &AtomicU8) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(read) = from.read(&mut bytes) {
        let is_cut = cut
            .compare_exchange(
                point as u8,
                CutPoint::Nowhere as u8,
                Ordering::SeqCst,
                Ordering::SeqCst,
            )
            .is_ok();
        if read == 0 || is_cut || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
