//! Sums without rounding, for the variance: of values and of their squares.
//!
//! ```text
//!   digits of 32 bits       … 2^-64   2^-32   1   2^32 …      only those that were needed, each in 64 bits:
//!   a double touches 3            ▲───▲───▲                   carries are moved once in 2^30 additions
//! ```

use crate::memory::{MemoryExceeded, Reservation};

const BITS: i32 = 32;
/// Additions before carries are moved: a digit has room for twice as many.
const ADDITIONS_MAX: u32 = 1 << 30;
/// Digits of a term: the square of 256 bits.
const TERM_DIGITS: usize = 16;

/// `±Σ digits[i] · 2^(32·(lowest + i))`; sums and magnitudes have the same form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    is_negative: bool,
    lowest: i32,
    digits: [u32; TERM_DIGITS],
    len: usize,
}

impl Term {
    pub(super) const ZERO: Self = Self {
        is_negative: false,
        lowest: 0,
        digits: [0; TERM_DIGITS],
        len: 0,
    };

    /// `±magnitude · 2^exponent`. The magnitude has at most 97 bits unless the exponent is a
    /// multiple of 32.
    pub(super) fn new(is_negative: bool, magnitude: u128, exponent: i32) -> Self {
        let mut rest = magnitude << exponent.rem_euclid(BITS);
        let mut term = Self {
            is_negative,
            lowest: exponent.div_euclid(BITS),
            ..Self::ZERO
        };
        while rest > 0 {
            term.digits[term.len] = rest as u32;
            term.len += 1;
            rest >>= BITS;
        }
        term
    }

    /// The lowest byte comes first.
    pub(super) fn of_bytes(is_negative: bool, bytes: [u8; 32]) -> Self {
        let mut term = Self {
            is_negative,
            ..Self::ZERO
        };
        for (digit, bytes) in term.digits.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *digit = u32::from_le_bytes(*bytes);
        }
        term.len = significant(&term.digits);
        term
    }

    /// The square of a number of at most 8 digits.
    pub(super) fn squared(&self) -> Self {
        let mut square = Self {
            lowest: 2 * self.lowest,
            ..Self::ZERO
        };
        multiply(
            &self.digits[..self.len],
            &self.digits[..self.len],
            &mut square.digits,
        );
        square.len = significant(&square.digits);
        square
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct ExactReal {
    lowest: i32,
    digits: Vec<i64>,
    additions: u32,
}

impl ExactReal {
    pub(super) fn add(&mut self, term: &Term, reservation: &mut Reservation) -> Result<(), MemoryExceeded> {
        self.add_digits(
            term.is_negative,
            term.lowest,
            &term.digits[..term.len],
            reservation,
        )
    }

    pub(super) fn merge(
        &mut self,
        other: &Self,
        reservation: &mut Reservation,
    ) -> Result<(), MemoryExceeded> {
        let (is_negative, magnitude) = other.parts();
        self.add_digits(is_negative, magnitude.lowest, &magnitude.digits, reservation)
    }

    fn add_digits(
        &mut self,
        is_negative: bool,
        lowest: i32,
        digits: &[u32],
        reservation: &mut Reservation,
    ) -> Result<(), MemoryExceeded> {
        if digits.is_empty() {
            return Ok(());
        }
        let at = self.make_room(lowest, digits.len(), reservation)?;
        let sums = self.digits[at..].iter_mut().zip(digits);
        if is_negative {
            sums.for_each(|(sum, &digit)| *sum -= i64::from(digit));
        } else {
            sums.for_each(|(sum, &digit)| *sum += i64::from(digit));
        }
        Ok(())
    }

    /// Returns the place of digit `lowest`, with room for `len` digits.
    fn make_room(
        &mut self,
        lowest: i32,
        len: usize,
        reservation: &mut Reservation,
    ) -> Result<usize, MemoryExceeded> {
        if self.digits.is_empty() {
            self.lowest = lowest;
        }
        let below = (self.lowest - lowest).max(0) as usize;
        let start = (lowest - self.lowest).max(0) as usize;
        // One more digit takes carries.
        let needed = (below + self.digits.len()).max(start + len + 1);
        if needed > self.digits.len() {
            let more = needed - self.digits.capacity().min(needed);
            reservation.grow(more * size_of::<i64>())?;
            self.digits.reserve_exact(needed - self.digits.len());
            self.digits.resize(needed, 0);
            self.digits.rotate_right(below);
            self.lowest -= below as i32;
        }
        self.additions += 1;
        if self.additions >= ADDITIONS_MAX {
            let carry = move_carries(&mut self.digits);
            let last = self.digits.len() - 1;
            // The last carry is the sign.
            self.digits[last] += carry << BITS;
            self.additions = 1;
        }
        Ok(start)
    }

    pub(super) fn magnitude(&self) -> Magnitude {
        self.parts().1
    }

    fn parts(&self) -> (bool, Magnitude) {
        let mut digits = self.digits.clone();
        let mut carry = move_carries(&mut digits);
        let is_negative = carry < 0;
        if is_negative {
            digits.iter_mut().for_each(|digit| *digit = -*digit);
            carry = -carry + move_carries(&mut digits);
        }
        let mut digits: Vec<u32> = digits.into_iter().map(|digit| digit as u32).collect();
        digits.extend([carry as u32, (carry >> BITS) as u32]);
        digits.truncate(significant(&digits));
        let magnitude = Magnitude {
            lowest: self.lowest,
            digits,
        };
        (is_negative, magnitude)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Magnitude {
    lowest: i32,
    digits: Vec<u32>,
}

impl Magnitude {
    pub(super) fn times(&self, factor: u64) -> Self {
        self.product(self.lowest, &[factor as u32, (factor >> BITS) as u32])
    }

    pub(super) fn squared(&self) -> Self {
        self.product(2 * self.lowest, &self.digits)
    }

    fn product(&self, lowest: i32, other: &[u32]) -> Self {
        let mut digits = vec![0; self.digits.len() + other.len()];
        multiply(&self.digits, other, &mut digits);
        Self { lowest, digits }
    }

    /// `other` must not be larger.
    pub(super) fn minus(&self, other: &Self) -> Self {
        let lowest = self.lowest.min(other.lowest);
        let end = |number: &Self| number.lowest - lowest + number.digits.len() as i32;
        let mut digits = vec![0i64; end(self).max(end(other)) as usize];
        let place = |number: &Self| (number.lowest - lowest) as usize;
        let own = digits[place(self)..].iter_mut().zip(&self.digits);
        own.for_each(|(digit, &own)| *digit += i64::from(own));
        let others = digits[place(other)..].iter_mut().zip(&other.digits);
        others.for_each(|(digit, &other)| *digit -= i64::from(other));
        let carry = move_carries(&mut digits);
        assert_eq!(carry, 0, "a larger number is subtracted");
        Self {
            lowest,
            digits: digits.into_iter().map(|digit| digit as u32).collect(),
        }
    }

    /// `(m, e)` for `m · 2^e`, rounded to a double once; `m` has 64 bits before the point, or is 0.
    pub(super) fn double(&self) -> (f64, i32) {
        let Some(last) = self.digits.iter().rposition(|&digit| digit > 0) else {
            return (0.0, 0);
        };
        let digit = |back: usize| last.checked_sub(back).map_or(0, |at| self.digits[at]);
        let top = (0..3).fold(0u128, |top, back| top << BITS | u128::from(digit(back)));
        // The first 64 bits stay. The rest counts only as nonzero.
        let cut = 128 - top.leading_zeros() - 64;
        let is_more = top & ((1 << cut) - 1) > 0 || (3..=last).any(|back| digit(back) > 0);
        let mantissa = (top >> cut) as u64 | u64::from(is_more);
        let exponent = (self.lowest + last as i32 - 2) * BITS + cut as i32;
        (mantissa as f64, exponent)
    }
}

fn significant(digits: &[u32]) -> usize {
    digits
        .iter()
        .rposition(|&digit| digit > 0)
        .map_or(0, |last| last + 1)
}

/// Each digit ends in `0..2^32`; returns the highest carry.
fn move_carries(digits: &mut [i64]) -> i64 {
    digits.iter_mut().fold(0, |carry, digit| {
        let sum = *digit + carry;
        *digit = sum & i64::from(u32::MAX);
        sum >> BITS
    })
}

/// `product` comes with zeros.
fn multiply(a: &[u32], b: &[u32], product: &mut [u32]) {
    for (at, &a) in a.iter().enumerate() {
        let mut carry = 0;
        for (place, &b) in b.iter().enumerate() {
            let sum = u64::from(a) * u64::from(b) + u64::from(product[at + place]) + carry;
            product[at + place] = sum as u32;
            carry = sum >> BITS;
        }
        if carry > 0 {
            product[at + b.len()] = carry as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(terms: &[Term]) -> ExactReal {
        let mut sum = ExactReal::default();
        let mut reservation = Reservation::none();
        for term in terms {
            sum.add(term, &mut reservation).unwrap();
            assert_eq!(reservation.bytes(), sum.digits.capacity() * size_of::<i64>());
        }
        sum
    }

    fn value(number: &Magnitude) -> f64 {
        let (mantissa, exponent) = number.double();
        mantissa * 2f64.powi(exponent)
    }

    proptest! {
        #[test]
        fn sums_are_those_of_128_bits_however_they_are_merged(
            numbers in proptest::collection::vec((any::<i64>(), 0i32..60), 0..40),
            cut in 0usize..40,
        ) {
            let expected: i128 = numbers.iter().map(|&(n, shift)| i128::from(n) << shift).sum();
            let terms: Vec<Term> = numbers
                .iter()
                .map(|&(n, shift)| Term::new(n < 0, u128::from(n.unsigned_abs()), shift))
                .collect();
            let (left, right) = terms.split_at(cut.min(terms.len()));
            let mut merged = sum(left);
            merged.merge(&sum(right), &mut Reservation::none()).unwrap();
            for sum in [sum(&terms), merged] {
                prop_assert_eq!(value(&sum.magnitude()), expected.unsigned_abs() as f64);
            }
        }

        #[test]
        fn differences_of_products_are_those_of_128_bits(a in any::<u64>(), b in any::<u64>(), factor in any::<u32>()) {
            let magnitude = |n: u64| sum(&[Term::new(false, u128::from(n), 0)]).magnitude();
            let (less, more) = (a.min(b), a.max(b));
            let difference = magnitude(more).squared().minus(&magnitude(less).squared());
            let expected = u128::from(more).pow(2) - u128::from(less).pow(2);
            prop_assert_eq!(value(&difference), expected as f64);
            let product = magnitude(a).times(u64::from(factor));
            prop_assert_eq!(value(&product), (u128::from(a) * u128::from(factor)) as f64);
        }
    }

    #[test]
    fn carries_are_moved_before_a_digit_overflows() {
        let mut sum = ExactReal::default();
        let mut reservation = Reservation::none();
        let term = Term::new(true, u128::from(u32::MAX), 0);
        for round in 1..=4u64 {
            sum.additions = ADDITIONS_MAX - 1;
            sum.add(&term, &mut reservation).unwrap();
            assert_eq!(sum.additions, 1);
            assert_eq!(value(&sum.magnitude()), (round * u64::from(u32::MAX)) as f64);
        }
    }
}
