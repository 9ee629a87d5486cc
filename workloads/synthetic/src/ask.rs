//! What is asked next: operation and size.

use iodyno_plugin::random::Random;
use iodyno_plugin::{Op, Request};

use crate::choice::Choice;
use crate::settings::Settings;

/// Says what is asked next.
pub(crate) enum Ask {
    /// One operation in one size.
    Always(Request),
    /// Operation and size drawn by weight, each independent of all others.
    Drawn { rng: Random, ops: Vec<Op>, mix: Choice, lens: Vec<u32>, sizes: Choice },
}

impl Ask {
    /// As the settings say.
    pub(crate) fn new(settings: &Settings, rng: Random) -> Self {
        if let ([(op, _)], [len]) = (&settings.mix[..], &settings.lens[..]) {
            return Ask::Always(request(*op, *len));
        }
        let (ops, percent): (Vec<Op>, Vec<f64>) = settings.mix.iter().copied().unzip();
        let (lens, sizes) = (settings.lens.clone(), settings.sizes.clone());
        Ask::Drawn { rng, ops, mix: Choice::new(&percent), lens, sizes }
    }

    /// Sets operation and length; offsets are 0.
    pub(crate) fn fill(&mut self, out: &mut [Request]) {
        match self {
            Ask::Always(request) => out.fill(*request),
            Ask::Drawn { rng, ops, mix, lens, sizes } => {
                for slot in out {
                    let op = ops[mix.draw(rng)];
                    // A flush has no size, and draws none.
                    let size = if op == Op::Flush { 0 } else { sizes.draw(rng) };
                    *slot = request(op, lens[size]);
                }
            }
        }
    }
}

fn request(op: Op, len: u32) -> Request {
    let len = if op == Op::Flush { 0 } else { len };
    Request { op: op as u8, len, ..Request::default() }
}
