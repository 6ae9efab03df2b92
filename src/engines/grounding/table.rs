//! A table from hashes to numbers that is emptied in no time and used again.
//!
//! Open addressing; every slot carries the generation in which it was written, so that emptying the table is counting
//! up the generation.

#[derive(Clone, Copy, Default)]
struct Slot {
    key: u32,
    generation: u32,
    value: u32,
}

/// From 32-bit hashes to 32-bit numbers.
pub struct Table {
    slots: Vec<Slot>,
    generation: u32,
    used: usize,
}

/// Slots of a new table.
const SLOTS_MIN: usize = 1 << 12;
/// A larger table is not kept for the next record.
const SLOTS_KEPT_MAX: usize = 1 << 18;

impl Default for Table {
    fn default() -> Table {
        Table { slots: vec![Slot::default(); SLOTS_MIN], generation: 1, used: 0 }
    }
}

impl Table {
    /// Forgets everything.
    pub fn clear(&mut self) {
        if self.slots.len() > SLOTS_KEPT_MAX || self.generation == u32::MAX {
            *self = Table::default();
        }
        self.generation += 1;
        self.used = 0;
    }

    /// The number under `key`.
    #[inline]
    pub fn get(&self, key: u32) -> Option<u32> {
        let slot = &self.slots[self.slot(key)];
        (slot.generation == self.generation).then_some(slot.value)
    }

    /// The number under `key`, which is `value` when there was none; and whether there was none.
    #[inline]
    pub fn get_or_insert(&mut self, key: u32, value: u32) -> (u32, bool) {
        let index = self.slot(key);
        let slot = &mut self.slots[index];
        if slot.generation == self.generation {
            return (slot.value, false);
        }
        *slot = Slot { key, generation: self.generation, value };
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            self.grow();
        }
        (value, true)
    }

    #[inline]
    fn slot(&self, key: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut index = key.wrapping_mul(0x9E37_79B1) as usize >> 4 & mask;
        loop {
            let slot = &self.slots[index];
            if slot.generation != self.generation || slot.key == key {
                return index;
            }
            index = (index + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![Slot::default(); self.slots.len() * 4];
        let old = std::mem::replace(&mut self.slots, larger);
        for slot in old.into_iter().filter(|slot| slot.generation == self.generation) {
            let index = self.slot(slot.key);
            self.slots[index] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_and_forgets() {
        let mut table = Table::default();
        for round in 0..2 {
            let keys = (0..20_000u32).map(|key| key * 7 + 1);
            for (index, key) in keys.clone().enumerate() {
                assert_eq!(table.get_or_insert(key, index as u32), (index as u32, true), "{round}");
            }
            for (index, key) in keys.enumerate() {
                assert_eq!(table.get(key), Some(index as u32));
                assert_eq!(table.get_or_insert(key, 9), (index as u32, false));
            }
            table.clear();
            assert_eq!(table.get(8), None);
        }
    }
}
