/**
 * The inner products of one query with many rows of signed bytes, with the vector instructions of the processor: over ten times
 * faster than the same loop in JavaScript. Memory: 0 the query (16-bit numbers), 8192 the results of up to 1,024 rows (32-bit
 * numbers), from 16384 on the rows, each padded to 16 bytes. Source of the module:
 *
 *     (module (import "a" "memory" (memory 1))
 *       (func (export "scan") (param $at i32) (param $end i32) (param $bytes i32)
 *         (local $out i32) (local $query i32) (local $stop i32) (local $sum v128) (local $codes v128)
 *         (local.set $out (i32.const 8192))
 *         (loop $rows
 *           (local.set $sum (v128.const i32x4 0 0 0 0))
 *           (local.set $query (i32.const 0))
 *           (local.set $stop (i32.add (local.get $at) (local.get $bytes)))
 *           (loop $parts
 *             (local.set $codes (v128.load (local.get $at)))
 *             (local.set $sum (i32x4.add (local.get $sum)
 *               (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_s (local.get $codes)) (v128.load (local.get $query)))))
 *             (local.set $sum (i32x4.add (local.get $sum)
 *               (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_s (local.get $codes)) (v128.load offset=16 (local.get $query)))))
 *             (local.set $query (i32.add (local.get $query) (i32.const 32)))
 *             (local.set $at (i32.add (local.get $at) (i32.const 16)))
 *             (br_if $parts (i32.lt_u (local.get $at) (local.get $stop))))
 *           (i32.store (local.get $out) (i32.add
 *             (i32.add (i32x4.extract_lane 0 (local.get $sum)) (i32x4.extract_lane 1 (local.get $sum)))
 *             (i32.add (i32x4.extract_lane 2 (local.get $sum)) (i32x4.extract_lane 3 (local.get $sum)))))
 *           (local.set $out (i32.add (local.get $out) (i32.const 4)))
 *           (br_if $rows (i32.lt_u (local.get $at) (local.get $end))))))
 */
const scanModule = `
AGFzbQEAAAABBwFgA39/fwACDQEBYQZtZW1vcnkCAAEDAgEABwgBBHNjYW4AAAqlAQGiAQIDfwJ7QYDAACEDA0D9DAAAAAAAAAAAAAAAAAAAAAAhBkEAIQQg
ACACaiEFA0AgAP0ABAAhByAGIAf9hwEgBP0ABAD9ugH9rgEhBiAGIAf9iAEgBP0ABBD9ugH9rgEhBiAEQSBqIQQgAEEQaiEAIAAgBUkNAAsgAyAG/RsAIAb9
GwFqIAb9GwIgBv0bA2pqNgIAIANBBGohAyAAIAFJDQALCw==`;

let compiled: WebAssembly.Module | undefined;

const resultsAt = 8_192;
const rowsAt = 16_384;
const rowsPerCall = 1_024;
const pageBytes = 65_536;
const lane = 16;

/** The most dimensions that fit before the results. */
export const maxDimensions = 4_096;

/** Rows of signed bytes that are compared with a query all at once. */
export interface ByteRows {
  readonly sizeBytes: number;
  append(codes: Uint8Array): void;
  clear(row: number): void;
  /** Inner products with all rows, in units of both. */
  scan(query: Int16Array): Float64Array;
}

export function createByteRows(dimensions: number): ByteRows {
  const rowBytes = Math.ceil(dimensions / lane) * lane;
  const memory = new WebAssembly.Memory({ initial: 1 });
  compiled ??= new WebAssembly.Module(Buffer.from(scanModule, "base64"));
  const { exports } = new WebAssembly.Instance(compiled, { a: { memory } });
  const scanRows = exports["scan"] as (at: number, end: number, rowBytes: number) => void;
  let count = 0;
  const endOf = (row: number) => rowsAt + row * rowBytes;
  return {
    get sizeBytes() {
      return memory.buffer.byteLength;
    },
    append(codes) {
      const missing = endOf(count + 1) - memory.buffer.byteLength;
      // In large steps, since each one may move everything.
      if (missing > 0) memory.grow(Math.ceil((missing + memory.buffer.byteLength / 4) / pageBytes));
      new Uint8Array(memory.buffer, endOf(count), dimensions).set(codes);
      count += 1;
    },
    clear(row) {
      new Uint8Array(memory.buffer, endOf(row), rowBytes).fill(0);
    },
    scan(query) {
      const padded = new Int16Array(memory.buffer, 0, rowBytes);
      padded.fill(0);
      padded.set(query);
      const found = new Float64Array(count);
      for (let row = 0; row < count; row += rowsPerCall) {
        const end = Math.min(count, row + rowsPerCall);
        scanRows(endOf(row), endOf(end), rowBytes);
        found.set(new Int32Array(memory.buffer, resultsAt, end - row), row);
      }
      return found;
    },
  };
}

function largestOf(values: ArrayLike<number>): number {
  let largest = 0;
  for (let at = 0; at < values.length; at += 1) {
    const value = Math.abs(values[at] ?? Number.NaN);
    if (!(value <= largest)) largest = value;
  }
  return largest;
}

/** A vector in steps of its largest number; null for one without direction, and for what holds no numbers. */
function inSteps(values: readonly number[], steps: number): number[] | null {
  const largest = largestOf(values);
  if (!(largest > 0 && largest < Infinity)) return null;
  return values.map((value) => Math.round((value / largest) * steps));
}

const codeSteps = 127;
/** The sum of 4,096 products with codes still fits into 32 bits. */
const querySteps = 2_047;

/** A vector as signed bytes: its direction, within half a degree. Null for one that has none. */
export function encodeVector(values: readonly number[]): Uint8Array | null {
  const codes = inSteps(values, codeSteps);
  return codes && new Uint8Array(Int8Array.from(codes).buffer);
}

export function encodeQuery(values: readonly number[]): Int16Array | null {
  const codes = inSteps(values, querySteps);
  return codes && Int16Array.from(codes);
}

export function lengthOf(codes: Uint8Array | Int16Array): number {
  const signed =
    codes instanceof Int16Array ? codes : new Int8Array(codes.buffer, codes.byteOffset, codes.length);
  let sum = 0;
  for (const value of signed) sum += value * value;
  return Math.sqrt(sum);
}
