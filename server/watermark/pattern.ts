/** Cells of a tile along a side; a power of two, for the Fourier transform. In marks of before a cell is a pixel, today 1.5. */
export const tilePx = 128;
const chipPx = 2;
export const chipsPerSide = tilePx / chipPx;
const idBits = 32;
const checkBits = 24;
export const markBits = idBits + checkBits;
const syncShare = 0.3;
/** Never changes: with another pattern no older mark is found. */
const patternSeed = 0x41746c72;

/** Of each chip: the bit that it is part of, or `syncOwner`; and whether it is brighter (1) or darker (-1) for a 1. */
interface Chips {
  readonly owner: Int16Array;
  readonly sign: Int8Array;
}

export const syncOwner = -1;

/** Numbers from 0 to 1 that are the same on each computer (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

let made: Chips | null = null;

export function chips(): Chips {
  return (made ??= makeChips());
}

function makeChips(): Chips {
  const random = randomOf(patternSeed);
  const count = chipsPerSide ** 2;
  const order = Uint16Array.from({ length: count }, (_, at) => at);
  for (let at = count - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    const moved = order[at] ?? 0;
    order[at] = order[other] ?? 0;
    order[other] = moved;
  }
  const owner = new Int16Array(count);
  const sign = new Int8Array(count);
  const syncs = Math.floor(count * syncShare);
  for (const [rank, chip] of order.entries()) {
    owner[chip] = rank < syncs ? syncOwner : (rank - syncs) % markBits;
    sign[chip] = random() < 0.5 ? -1 : 1;
  }
  return { owner, sign };
}

/** The chip of each pixel of a tile, by `y * tilePx + x`. */
export function chipOfPixel(pixel: number): number {
  const [x, y] = [pixel % tilePx, Math.floor(pixel / tilePx)];
  return Math.floor(y / chipPx) * chipsPerSide + Math.floor(x / chipPx);
}

/** CRC-24 as OpenPGP has it. */
function checkOf(id: number): number {
  let crc = 0xb704ce;
  for (let shift = 24; shift >= 0; shift -= 8) {
    crc ^= ((id >>> shift) & 255) << 16;
    for (let bit = 0; bit < 8; bit += 1) {
      crc <<= 1;
      if (crc & 0x1000000) crc ^= 0x1864cfb;
    }
  }
  return crc & 0xffffff;
}

/** The bits of a mark as 1 and -1: the number, then its checksum. */
export function bitsOf(id: number): Int8Array {
  const check = checkOf(id);
  const bitAt = (at: number) => (at < idBits ? id >>> at : check >>> (at - idBits)) & 1;
  return Int8Array.from({ length: markBits }, (_, at) => (bitAt(at) === 1 ? 1 : -1));
}

/** The number in bits whose checksum is right; null for others. */
export function idOf(bits: Int8Array): number | null {
  let [id, check] = [0, 0];
  for (const [at, bit] of bits.entries()) {
    if (bit < 0) continue;
    if (at < idBits) id |= 1 << at;
    else check |= 1 << (at - idBits);
  }
  return checkOf(id >>> 0) === check ? id >>> 0 : null;
}
