//! The channel binding of a login, so that an attacker cannot pass it on to the server over TLS of
//! his own: `tls-server-end-point` of RFC 5929.

use sha2::{Digest, Sha256, Sha384, Sha512};

/// 1.2.840.113549.1.1: signatures by RSA.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// 1.2.840.10045.4: signatures by ECDSA.
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];

/// DER's tags.
const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// The hash of a certificate by the hash of its own signature; `None` where that has none, such as Ed25519, or is not known.
pub(crate) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = signature_algorithm(certificate)?;
    let (rsa, ecdsa) = (algorithm.strip_prefix(RSA), algorithm.strip_prefix(ECDSA));
    match (rsa, ecdsa) {
        // MD5 and SHA-1 count as SHA-256.
        (Some([0x04 | 0x05 | 0x0b]), _) | (_, Some([0x01] | [0x03, 0x02])) => {
            Some(Sha256::digest(certificate).to_vec())
        }
        (Some([0x0c]), _) | (_, Some([0x03, 0x03])) => Some(Sha384::digest(certificate).to_vec()),
        (Some([0x0d]), _) | (_, Some([0x03, 0x04])) => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// `Certificate ::= SEQUENCE { tbsCertificate SEQUENCE, signatureAlgorithm SEQUENCE { algorithm OBJECT IDENTIFIER, … }, … }`
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (inner, _) = read_der_element(certificate, SEQUENCE)?;
    let (_, rest) = read_der_element(inner, SEQUENCE)?;
    let (algorithm, _) = read_der_element(rest, SEQUENCE)?;
    read_der_element(algorithm, OBJECT_IDENTIFIER).map(|(name, _)| name)
}

/// The content of the first element, which must have this tag, and what follows it.
fn read_der_element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = der.split_first_chunk::<2>()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest
            .split_at_checked(usize::from(first & 0x7f))
            .filter(|(digits, _)| digits.len() <= 4)?;
        (
            digits
                .iter()
                .fold(0, |length, digit| length << 8 | usize::from(*digit)),
            rest,
        )
    };
    if found == tag {
        rest.split_at_checked(length)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[tag, 0x82], &length[..], content].concat()
    }

    fn certificate(algorithm: &[u8]) -> Vec<u8> {
        let algorithm = wrapped(SEQUENCE, &wrapped(OBJECT_IDENTIFIER, algorithm));
        wrapped(
            SEQUENCE,
            &[wrapped(SEQUENCE, &[7; 300]), algorithm, wrapped(3, &[1])].concat(),
        )
    }

    #[test]
    fn hash_follows_signature_with_at_least_sha_256() {
        for (algorithm, length) in [
            ([RSA, &[0x05]].concat(), Some(32)),
            ([RSA, &[0x0b]].concat(), Some(32)),
            ([RSA, &[0x0c]].concat(), Some(48)),
            ([RSA, &[0x0d]].concat(), Some(64)),
            ([RSA, &[0x0a]].concat(), None),
            ([ECDSA, &[0x03, 0x02]].concat(), Some(32)),
            ([ECDSA, &[0x03, 0x03]].concat(), Some(48)),
            ([ECDSA, &[0x03, 0x04]].concat(), Some(64)),
            (vec![0x2b, 0x65, 0x70], None),
        ] {
            assert_eq!(
                end_point(&certificate(&algorithm)).map(|hash| hash.len()),
                length,
                "{algorithm:x?}"
            );
        }
    }

    #[test]
    fn truncated_or_invalid_certificate_yields_no_binding() {
        let whole = certificate(&[RSA, &[0x0b]].concat());
        for end in 0..whole.len() {
            assert_eq!(end_point(&whole[..end]), None, "{end}");
        }
        assert_eq!(end_point(&[0xff; 64]), None);
    }
}
