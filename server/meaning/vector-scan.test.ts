import { expect, test } from "vitest";
import { createByteRows, encodeQuery, encodeVector, lengthOf } from "./vector-scan.ts";

/** Numbers between -1 and 1 that are the same in each run. */
function createNumbers(seed: number) {
  let state = seed;
  return (count: number) =>
    Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return (state / 2 ** 31 - 1) ** 3;
    });
}

const signed = (codes: Uint8Array) => new Int8Array(codes.buffer, codes.byteOffset, codes.length);

test.each([
  [1, 3],
  [16, 1_024],
  [100, 1_025],
  [384, 2_500],
  [4_096, 40],
])("M3 inner products of %i dimensions with %i rows are those of plain numbers", (dimensions, count) => {
  const numbers = createNumbers(dimensions);
  const codes = Array.from({ length: count }, () => encodeVector(numbers(dimensions)) ?? new Uint8Array());
  const rows = createByteRows(dimensions);
  for (const each of codes) rows.append(each);
  const query = encodeQuery(numbers(dimensions)) ?? new Int16Array();
  const plain = codes.map((each) =>
    signed(each).reduce((sum, code, at) => sum + code * (query[at] ?? Number.NaN), 0),
  );
  expect([...rows.scan(query)]).toEqual(plain);
  rows.clear(0);
  expect([...rows.scan(query)]).toEqual([0, ...plain.slice(1)]);
});

test("the largest numbers do not overflow", () => {
  const rows = createByteRows(4_096);
  const ones = Array.from({ length: 4_096 }, () => 1);
  rows.append(encodeVector(ones) ?? new Uint8Array());
  const query = encodeQuery(ones) ?? new Int16Array();
  expect([...rows.scan(query)]).toEqual([4_096 * 127 * 2_047]);
});

test("bytes keep the direction of a vector, whatever its length", () => {
  const numbers = createNumbers(5);
  for (const scale of [1e-9, 1, 1e9]) {
    const [one, other] = [numbers(384), numbers(384)];
    const exact =
      one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0) /
      (Math.hypot(...one) * Math.hypot(...other));
    const codes = encodeVector(one.map((value) => value * scale)) ?? new Uint8Array();
    const query = encodeQuery(other) ?? new Int16Array();
    const rows = createByteRows(384);
    rows.append(codes);
    const [product = Number.NaN] = rows.scan(query);
    expect(product / (lengthOf(codes) * lengthOf(query))).toBeCloseTo(exact, 2);
  }
});

test.each([[[0, 0, 0]], [[1, Number.NaN]], [[1, Infinity]], [[]]])("%o has no direction", (values) => {
  expect(encodeVector(values)).toBeNull();
  expect(encodeQuery(values)).toBeNull();
});
